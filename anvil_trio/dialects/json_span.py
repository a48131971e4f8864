"""Where a member of a JSON object stands, so that its value can change and no other byte does.

The text was decoded before: only whole JSON values come here.
"""

import re
from collections.abc import Iterator

import msgspec

__all__ = ["spans_of", "with_text"]

Span = tuple[int, int]

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_TEXT = msgspec.json.Decoder(str)


def spans_of(data: bytes, *path: str) -> list[Span | None]:
    """Where the value stands, quotes included, each time the object has the member at that path.

    None where the value is no string. A path of one name is a member of the outermost object.
    """
    return list(_found(data, path))


def with_text(data: bytes, *path: str, text: str) -> bytes:
    """The object with every string that is a member at that path replaced, no other byte."""
    written = msgspec.json.encode(text)
    parts, at = [], 0
    for span in _found(data, path):
        if span is not None:
            parts += [data[at : span[0]], written]
            at = span[1]
    return b"".join([*parts, data[at:]])


def _found(data: bytes, path: tuple[str, ...]) -> Iterator[Span | None]:
    depth, inside = 0, 0  # brackets that are open; names of the path that lead here
    awaited = -1  # where the value of the next name of the path begins
    for token in _TOKEN.finditer(data):
        first, start, end = data[token.start()], token.start(), token.end()
        is_value, is_last = start == awaited, inside == len(path) - 1
        if is_value and is_last:
            yield (start, end) if first == ord('"') else None
        if first in b"[{":
            inside += is_value and not is_last and first == ord("{")
            depth += 1
        elif first in b"]}":
            inside -= inside > 0 and depth == inside + 1
            depth -= 1
        elif (
            depth == inside + 1
            and (colon := _COLON.match(data, end))
            and _read(token[0]) == path[inside]
        ):
            awaited = colon.end()
            if is_last and data[awaited] not in b'"[{':
                yield None


def _read(token: bytes) -> str | None:
    """A name; None for one with half a surrogate pair, which none of ours has."""
    try:
        return _TEXT.decode(token)
    except msgspec.DecodeError:
        return None
