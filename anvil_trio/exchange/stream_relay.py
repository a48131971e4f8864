"""A reply that is handed on event by event."""

from http import HTTPStatus

from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.dialects.ir import StreamTranslator
from anvil_trio.errors import Problem
from anvil_trio.exchange.caller import Caller, Header
from anvil_trio.exchange.closing import Closing, broken
from anvil_trio.exchange.deadlines import Due
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.relay import Relay, is_success
from anvil_trio.exchange.watch import Watch
from anvil_trio.upstream.stream import Head, UpstreamStream

__all__ = ["HEARTBEAT", "StreamRelay"]

HEARTBEAT = b": keepalive\n"
"""A comment ended by ONE newline: a blank line after it would make old SDKs dispatch an event."""


_STREAMING = Head(HTTPStatus.OK)  # in place of a head that was heard and began a stream


class StreamRelay(Relay):
    """Hands each read's whole events on at once, and heartbeats while the engine is silent.

    The head is sent with the first event, or when the first heartbeat falls due after dispatch;
    until then an engine's error is still a plain HTTP error (decision 5). What ends the stream is
    not sent but returned as the tail: a caller that has read `[DONE]` may ask again at once, and
    finds lease and permit given back.
    """

    def __init__(
        self,
        stream: UpstreamStream,
        watch: Watch,
        record: RecordBuilder,
        max_bytes: int,
        *,
        translator: StreamTranslator,
        caller: Caller,
        headers: list[Header],
    ) -> None:
        super().__init__(stream, watch, record, max_bytes)
        self._translator = translator
        self._caller, self._headers = caller, headers
        self._outbox = b""  # made, but not yet handed over
        self._last = b""  # what came with the engine's last word

    async def _resume(self, due: Due) -> None:
        """Go on where a lapse cut in: send the beat that is due, or finish the write under way."""
        if due is Due.HEARTBEAT:
            self._say(HEARTBEAT, self._watch.now())
        if self._watch.deadlines.is_sending:
            await self._write()

    async def _pump(self) -> Closing:
        if self._head is not _STREAMING:
            closing = await self._begin()
            if closing is not None:
                return closing
        translator = self._translator
        while True:
            # Looked at here, so that a lapse which cut into the write below hides no fault.
            if translator.failure is not None:
                return self._broken(translator.failure)
            if await self._stream.flow(self._hand_on):
                return self._ended(self._last + translator.close())
            if self._watch.deadlines.is_sending:
                await self._write()

    def _hand_on(self, data: bytes) -> bool:
        """Hand on what one read is worth, mostly a single event, in the step in which it came.

        False: the caller must be waited for, or there is a fault. What comes with the engine's last
        word is kept for the end.
        """
        translator = self._translator
        now = self._watch.now()
        before = translator.events
        out = translator.feed(data)
        if translator.events != before:
            self._progressed(now)
        if translator.is_done:
            self._last += out
        elif out and not self._say(out, now):
            return False
        return translator.failure is None

    async def _begin(self) -> Closing | None:
        """Hear the head; the closing of a reply that is no stream of events.

        Of a head that is one nothing is kept: a stream may last for hours.
        """
        head = await self._receive_head()
        if not is_success(head):
            return await self._refused(head)
        if not _is_event_stream(head):
            return self._whole(await self._collect(self._max_bytes))
        self._head = _STREAMING
        return None

    def _whole(self, body: bytes) -> Closing:
        """A plain JSON answer to a streaming request, made a stream."""
        tail = self._translator.feed_whole(body)
        if self._translator.failure is None:
            self._content_began()
        return self._ended(tail)

    def _progressed(self, now: float) -> None:
        translator = self._translator
        if translator.is_done:
            self._watch.said_all(now)
        elif translator.is_finished:
            self._watch.finished(now)
        else:
            self._watch.progressed(now)
        if translator.has_content and self._record.first_content_at is None:
            self._content_began()

    def _say(self, data: bytes, now: float) -> bool:
        """Hand over without waiting; False: a write has begun that `_write` must wait for."""
        caller = self._caller
        is_said = (
            caller.say_more(data)
            if caller.has_started
            else caller.say_first(_STREAMING.status, self._headers, data)
        )
        if not is_said:
            self._outbox = data
        elif caller.is_drained:
            self._watch.passed_on(now)
            return True
        self._watch.sending()
        return False

    async def _write(self) -> None:
        """Wait for the caller: until they take what was handed over, or still is to be."""
        if self._outbox:
            if not self._caller.has_started:
                await self._caller.start(_STREAMING.status, self._headers)
            data, self._outbox = self._outbox, b""
            await self._caller.send(data)
        else:
            await self._caller.drained()
        self._watch.sent()

    def _ended(self, tail: bytes) -> Closing:
        failure = self._translator.failure
        return broken(failure) if failure is not None else Closing(Outcome.SERVED, tail=tail)

    def _broken(self, what: Problem) -> Closing:
        """A break after the finish reason loses nothing: the reply is a success (decision 8)."""
        if self._translator.is_finished or self._translator.is_done:
            return self._finished()
        return broken(what)

    def _lapsed(self, due: Due) -> Closing:
        return self._finished() if due is Due.GRACE else super()._lapsed(due)

    def _finished(self) -> Closing:
        """The engine has said what matters; its usage, `[DONE]` or end are not waited for."""
        return Closing(Outcome.SERVED, tail=self._last + self._translator.finish_now())


def _is_event_stream(head: Head) -> bool:
    kind = head.header(b"content-type") or b""
    return kind.partition(b";")[0].strip().lower() == b"text/event-stream"
