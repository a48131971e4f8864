"""What the dialects of clients and engines meet in, and the shape each dialect has."""

from collections.abc import Callable
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

import msgspec

from anvil_trio.config.model import Tier
from anvil_trio.errors import Problem

__all__ = [
    "MOST_TOKENS",
    "ChatRequest",
    "ClientDialect",
    "FinishReason",
    "Media",
    "OutputLimit",
    "Prompt",
    "RenderedReply",
    "RenderedRequest",
    "StreamProgress",
    "StreamTranslator",
    "Usage",
    "least",
]


class FinishReason(StrEnum):
    """Why a reply ended, in the record's words."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"


class Media(msgspec.Struct, frozen=True):
    """How many parts of each kind a request carries."""

    images: int = 0
    videos: int = 0
    audios: int = 0
    files: int = 0


MOST_TOKENS = 2**63 - 1
"""No engine counts further; a count beyond is none."""


class Usage(msgspec.Struct, frozen=True):
    """Token counts as the engine reported them; None where it reported none, never a made-up 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


def least(one: int | None, other: int | None) -> int | None:
    """The smaller of two limits, where there are any."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class OutputLimit(msgspec.Struct, frozen=True):
    """The caller's limit and the one sent upstream."""

    requested: int | None = None
    applied: int | None = None

    @property
    def is_clamped(self) -> bool:
        """Whether the caller asked for more than the tier gives."""
        return (
            self.requested is not None
            and self.applied is not None
            and self.applied < self.requested
        )


class Prompt(msgspec.Struct):
    """How many tokens a prompt is estimated at: max(words, utf8 bytes / 4) over all its text.

    That takes a pass over all the text, for a number that most never ask for: the engine counts.
    So it is found when it is asked for, by `count`, and known from then on; until then `most` is
    what it cannot be above. Without `count` it is known from the start.
    """

    most: int
    count: Callable[[], int] | None = None

    @property
    def tokens(self) -> int:
        """The estimate."""
        if self.count is not None:
            self.most, self.count = self.count(), None
        return self.most

    def __repr__(self) -> str:
        """Nothing that was asked."""
        return "Prompt()"


class ChatRequest(msgspec.Struct, frozen=True):
    """One chat request as a caller sent it: checked for types, otherwise untouched.

    `fields` are the top-level members in their order, each as raw JSON. `model` is the caller's
    own spelling. `choices` is how many answers were asked for (`n`).

    This is the form in which all dialects meet: `fields` are Chat members whatever the caller's
    dialect is. What Chat has no word for was refused, or dropped and named in `dropped_fields`;
    `source` is the caller's own body, for engines that speak the caller's dialect; no other tier
    can take a request that has an `untranslatable` part.
    """

    model: str
    stream: bool
    usage_wanted: bool
    fields: MappingProxyType[str, msgspec.Raw]
    prompt: Prompt
    roles: frozenset[str]  # of its messages
    output_limit: int | None = None
    choices: int = 1
    media: Media = Media()
    has_tools: bool = False
    is_prefill: bool = False
    dropped_fields: tuple[str, ...] = ()
    source: bytes | None = None
    untranslatable: Problem | None = None

    @property
    def prompt_tokens(self) -> int:
        """How long its prompt is estimated to be."""
        return self.prompt.tokens

    def __repr__(self) -> str:
        """Nothing that was asked."""
        return "ChatRequest()"


class RenderedRequest(msgspec.Struct, frozen=True):
    """The body for the engine, and what the record should say about it."""

    body: bytes
    output_limit: OutputLimit = OutputLimit()
    dropped_fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Nothing that was asked."""
        return "RenderedRequest()"


class RenderedReply(msgspec.Struct, frozen=True):
    """A whole unary reply for the caller."""

    body: bytes
    finish_reason: FinishReason | None
    usage: Usage
    completion_estimate: int | None = None  # as in StreamTranslator

    def __repr__(self) -> str:
        """Nothing that was answered."""
        return "RenderedReply()"


class StreamProgress(Protocol):
    """How far a reply stream has come, whatever its bytes are turned into."""

    @property
    def events(self) -> int:
        """Real events so far; comments and blank events are not progress."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason was seen."""
        ...

    @property
    def is_done(self) -> bool:
        """Whether the engine said that nothing more will come."""
        ...

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the reply ended, once that is known."""
        ...

    @property
    def is_finish_reason_missing(self) -> bool:
        """Whether the reply ended well without a finish reason."""
        ...

    @property
    def usage(self) -> Usage:
        """The engine's counts so far."""
        ...

    @property
    def failure(self) -> Problem | None:
        """What broke the stream, if anything did."""
        ...


class StreamTranslator(StreamProgress, Protocol):
    """One reply stream, engine's bytes in, caller's bytes out; knows no clock and no socket.

    `feed` never loses what came before a fault: it returns the bytes that are good, then
    `failure` is set and nothing more may be fed. Memory is bounded by `max_event_bytes` + 256 KiB.
    """

    @property
    def has_content(self) -> bool:
        """Whether some text, reasoning or tool argument has been handed on."""
        ...

    @property
    def completion_estimate(self) -> int | None:
        """The answer's tokens as the caller was told for want of a count; None if it was not."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Take one read's bytes; return all whole events they complete, in the caller's dialect."""
        ...

    def feed_whole(self, body: bytes) -> bytes:
        """The engine sent one JSON reply instead: all of it as a stream, closing included."""
        ...

    def close(self) -> bytes:
        """The engine's stream has ended cleanly: the closing bytes, or b"" with `failure` set."""
        ...

    def finish_now(self) -> bytes:
        """After a finish reason, stop waiting for usage and `[DONE]`: the closing bytes."""
        ...

    def terminal_error(self, what: Problem) -> bytes:
        """The last frame of a stream that failed; no success marker follows it."""
        ...


class ClientDialect(Protocol):
    """What `exchange` needs of one client dialect."""

    name: str

    def render_request(self, request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
        """The body for one of the tier's engines; a 400 where the tier cannot take the request."""
        ...

    def render_reply(self, body: bytes, request: ChatRequest, tier: Tier) -> RenderedReply:
        """An engine's unary reply for the caller. Raises `UpstreamFailed` if it is unusable."""
        ...

    def translator(
        self, request: ChatRequest, tier: Tier, max_event_bytes: int
    ) -> StreamTranslator:
        """A fresh translator for one reply stream of one of the tier's engines."""
        ...

    def parse_request(self, body: bytes) -> ChatRequest | Problem:
        """Check a body's types (a 400 names the field, never the value)."""
        ...

    def render_problem(self, what: Problem) -> bytes:
        """The JSON body of an HTTP error."""
        ...
