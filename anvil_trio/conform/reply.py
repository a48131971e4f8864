"""One answer to one request, whatever became of it. Pure."""

from dataclasses import dataclass, field
from enum import StrEnum

from anvil_trio.conform.grammar import GrammarError, JsonObject, parse_object
from anvil_trio.conform.verdict import StatusFault

__all__ = ["Headers", "Reply", "Trouble", "body_of", "expect_ok", "stream_of"]

Headers = tuple[tuple[bytes, bytes], ...]
_OK = 200


class Trouble(StrEnum):
    """Why an answer is not whole."""

    REFUSED = "refused"
    BROKEN = "broken"
    TIMED_OUT = "timed_out"
    OVERSIZED = "oversized"


_WORDS = {
    Trouble.REFUSED: "no connection could be made",
    Trouble.BROKEN: "the connection broke, or the answer is not HTTP",
    Trouble.TIMED_OUT: "the answer did not end in time",
    Trouble.OVERSIZED: "the answer is longer than anybody would read",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came: a status if any did, the body as far as it came, and why there is no more.

    `is_left` says that we left it in the midst. Times are seconds since the request was begun.
    """

    status: int | None = None
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    trouble: Trouble | None = None
    is_left: bool = False
    total_s: float = 0.0

    def header(self, name: bytes) -> bytes:
        """The first header of that lower-case name; empty if there is none."""
        return next((value for key, value in self.headers if key == name), b"")


def expect_ok(reply: Reply) -> None:
    """Raises GrammarError unless the answer is whole and its status 200."""
    if reply.status not in {None, _OK} and reply.trouble is None:
        raise StatusFault(reply.status or 0)
    if reply.trouble is not None:
        raise GrammarError(_WORDS[reply.trouble])


def body_of(reply: Reply) -> JsonObject:
    """The object that a whole answer holds. Raises GrammarError."""
    expect_ok(reply)
    return parse_object(reply.body)


def stream_of(reply: Reply) -> bytes:
    """The events of a whole stream, their line ends made LF. Raises GrammarError.

    A stream that was cut keeps its events: the grammar says what it lacks.
    """
    if reply.status != _OK or reply.trouble not in {None, Trouble.BROKEN}:
        expect_ok(reply)
    if not reply.header(b"content-type").startswith(b"text/event-stream"):
        raise GrammarError("the answer is not an event stream")
    return reply.body.replace(b"\r\n", b"\n")
