"""What a parser makes of bytes, as a test wants to see it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from anvil_trio.server.http1_head import RequestHead
from anvil_trio.server.http1_requests import Fault, Part, RequestParser

__all__ = ["Seen", "parsed", "splits"]


@dataclass
class Seen:
    """Everything that a parser has given."""

    heads: list[RequestHead] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """Of the requests that were whole."""

    unfinished: bytes = b""
    is_kept: bool = True
    fault: int | None = None
    frames: bytes = b""

    def take(self, parser: RequestParser) -> None:
        """Take all that there is."""
        while parser.received:
            item = parser.received.popleft()
            assert self.fault is None, "nothing follows a fault"
            match item:
                case RequestHead():
                    self.heads.append(item)
                case Part(data, is_last, is_kept):
                    self.unfinished += data
                    if is_last:
                        self.bodies.append(self.unfinished)
                        self.unfinished, self.is_kept = b"", is_kept
                case Fault(status):
                    self.fault = status
                case _:
                    self.frames += item


def parsed(pieces: Iterable[bytes], limit: int = 16_384) -> Seen:
    """What one connection's bytes are, read piece by piece, none of them longer than 16 KiB."""
    parser, seen = RequestParser(limit), Seen()
    for piece in pieces:
        for at in range(0, len(piece), 16_384):
            parser.feed(piece[at : at + 16_384])
            seen.take(parser)
    return seen


def splits(data: bytes, most: int = 200) -> Iterable[tuple[bytes, bytes]]:
    """`data` in two pieces, in all ways; of long data `most` of them."""
    step = max(1, len(data) // most)
    return ((data[:at], data[at:]) for at in range(1, len(data), step))
