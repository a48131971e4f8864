"""Any engine's stream for a caller of any other dialect: one decoder, one encoder, joined.

Nothing is buffered but what an encoder must hold to keep its own grammar.
"""

from collections.abc import Iterable
from typing import Protocol

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)
from anvil_trio.dialects.ir import FinishReason, StreamProgress, Usage
from anvil_trio.errors import Problem, UpstreamFailed

__all__ = ["EventDecoder", "StreamEncoder", "TranslatedStream"]

_CONTENT = (TextDelta, ReasoningDelta, CallBegan, ArgumentsDelta)


class EventDecoder(StreamProgress, Protocol):
    """One engine's stream, bytes in, events out.

    Like a translator it never loses what came before a fault: the good events are returned, and
    `failure` is set.
    """

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Take one read."""
        ...

    def feed_whole(self, body: bytes) -> list[StreamEvent]:
        """The engine sent one JSON reply instead; it is done, or `failure` is set."""
        ...

    def close(self) -> list[StreamEvent]:
        """The engine's stream has ended cleanly; if that was too soon `failure` is set."""
        ...


class StreamEncoder(Protocol):
    """Events in, one caller's stream out, in the whole grammar of its dialect.

    `encode` raises UpstreamFailed for what no caller of this dialect could use. What it has taken
    `finish` can always end well, also where the engine's bytes broke after its finish reason.
    """

    @property
    def completion_estimate(self) -> int | None:
        """What `finish` says of the answer's tokens that no engine has counted; None if nothing."""
        ...

    def start(self) -> bytes:
        """The bytes that open the stream; called once, before anything else."""
        ...

    def encode(self, event: StreamEvent) -> bytes:
        """The bytes that an event is worth now; b"" if it must wait or says nothing here."""
        ...

    def finish(self) -> bytes:
        """Whatever waits, and the bytes that end a stream well; called once."""
        ...

    def terminal_error(self, what: Problem) -> bytes:
        """The last frame of a stream that failed; it may not have been started."""
        ...


class TranslatedStream:
    """A `StreamTranslator` made of a decoder and an encoder.

    The opening bytes leave with the first event that the engine sends, so that until then its
    error can still be a plain HTTP error.
    """

    def __init__(self, decoder: EventDecoder, encoder: StreamEncoder) -> None:
        self._decoder, self._encoder = decoder, encoder
        self.has_content = False
        self._failure: Problem | None = None  # found by the encoder
        self._has_started = False
        self._has_ended = False

    @property
    def events(self) -> int:
        """Real events so far."""
        return self._decoder.events

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason was seen, and what came before it can be used."""
        return self._decoder.is_finished and self._failure is None

    @property
    def is_done(self) -> bool:
        """Whether the engine said that nothing more will come, and the caller has been told."""
        return self._decoder.is_done and self._failure is None

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the reply ended, once that is known."""
        return self._decoder.finish_reason

    @property
    def is_finish_reason_missing(self) -> bool:
        """Whether the engine ended well without saying why."""
        return self._decoder.is_finish_reason_missing

    @property
    def usage(self) -> Usage:
        """The engine's counts so far."""
        return self._decoder.usage

    @property
    def completion_estimate(self) -> int | None:
        """What the caller was told of the answer's tokens for want of a count."""
        is_told = self._has_ended and self.usage.completion_tokens is None
        return self._encoder.completion_estimate if is_told else None

    @property
    def failure(self) -> Problem | None:
        """What broke the stream, in the engine's bytes or in what they mean."""
        return self._failure or self._decoder.failure

    def feed(self, data: bytes) -> bytes:
        """Take one read's bytes; what they are worth, in the caller's dialect."""
        if self._is_over:
            return b""
        out: list[bytes] = []
        before = self._decoder.events
        found = self._decoder.feed(data)
        if self._decoder.events > before and (found or self._decoder.failure is None):
            self._encode(found, out)
        if self.is_done:
            self._finish(out)
        return b"".join(out)

    def feed_whole(self, body: bytes) -> bytes:
        """Take one JSON reply; the whole stream, closing included."""
        return self._last(self._decoder.feed_whole(body))

    def close(self) -> bytes:
        """The engine closed cleanly: the closing bytes, or `failure` is set."""
        return b"" if self._is_over else self._last(self._decoder.close())

    def finish_now(self) -> bytes:
        """The closing bytes, once; for a stream that `is_finished`."""
        out: list[bytes] = []
        if not self._has_ended and self._failure is None:
            self._finish(out)
        return b"".join(out)

    def terminal_error(self, what: Problem) -> bytes:
        """The last frame of this stream, which failed."""
        return self._encoder.terminal_error(what)

    @property
    def _is_over(self) -> bool:
        return self._has_ended or self.failure is not None

    def _last(self, events: list[StreamEvent]) -> bytes:
        """The last events and the closing bytes; without these if the stream has failed."""
        out: list[bytes] = []
        if events:
            self._encode(events, out)
        if not self._is_over:
            self._finish(out)
        return b"".join(out)

    def _encode(self, events: Iterable[StreamEvent], out: list[bytes]) -> None:
        self._start(out)
        encode = self._encoder.encode
        try:
            for event in events:
                if not self.has_content and isinstance(event, _CONTENT):
                    self.has_content = True
                out.append(encode(event))
        except UpstreamFailed as failed:
            self._failure = failed.problem

    def _start(self, out: list[bytes]) -> None:
        if not self._has_started:
            self._has_started = True
            out.append(self._encoder.start())

    def _finish(self, out: list[bytes]) -> None:
        self._start(out)
        out.append(self._encoder.finish())
        self._has_ended = True
