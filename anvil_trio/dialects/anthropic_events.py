"""Replies of engines that speak Anthropic Messages, decoded into what any encoder reads."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from anvil_trio.dialects.anthropic_answer import (
    AnthropicAnswer,
    AnthropicEvent,
    Content,
    error_in,
    reason_of,
)
from anvil_trio.dialects.events import StreamEvent
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.openai_answer import new_call_id
from anvil_trio.dialects.raw_json import ABSENT, is_given, is_utf8, raw_of, with_members
from anvil_trio.dialects.sse import DONE, SseDecoder, SseEvent, SseTooLong
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["AnthropicEvents", "Heard", "events_of_message"]

_BROKEN = (msgspec.DecodeError, RecursionError)


class Heard(msgspec.Struct, frozen=True, gc=False):
    """One good event: its data as sent, what it is, and what it says."""

    data: bytes
    event: AnthropicEvent
    says: list[StreamEvent]


class _Reply(msgspec.Struct, gc=False):
    type: str | None = None
    content: list[Content] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


_EVENT = msgspec.json.Decoder(AnthropicEvent)
_REPLY = msgspec.json.Decoder(_Reply)


def events_of_message(
    body: bytes, make_id: Callable[[], str] = new_call_id
) -> tuple[StreamEvent, ...]:
    """What a whole reply says, its counts and its end last.

    Raises UpstreamFailed if it is not a reply: malformed, without content, or an error object.
    """
    out: list[StreamEvent] = []
    _take_reply(body, AnthropicAnswer(make_id), out)
    return tuple(out)


def _take_reply(body: bytes, answer: AnthropicAnswer, out: list[StreamEvent]) -> None:
    try:
        reply = _REPLY.decode(body)
    except _BROKEN:
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None
    if reply.type == "error" or is_given(reply.error):
        raise UpstreamFailed(error_in(body))
    if reply.content is None or not is_utf8(body):
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
    for index, content in enumerate(reply.content):
        answer.begin(index, content, out)
    answer.count(reply.usage, out)
    if reply.stop_reason:
        answer.finish(reason_of(reply.stop_reason), out, reply.stop_sequence)
    answer.stop(out)


class AnthropicEvents:
    """Decodes one stream (`EventDecoder`).

    `message_delta` with a stop reason is the finish reason, `message_stop` the engine's last word;
    a ping is no progress.
    """

    def __init__(self, max_event_bytes: int, make_id: Callable[[], str] = new_call_id) -> None:
        self.events = 0
        self.failure: Problem | None = None
        self._decoder = SseDecoder(max_event_bytes)
        self._answer = AnthropicAnswer(make_id)

    @property
    def is_finished(self) -> bool:
        """Whether the engine has said that the answer is whole."""
        return self._answer.finish_reason is not None

    @property
    def is_done(self) -> bool:
        """Whether the engine said that nothing more will come."""
        return self._answer.is_done

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the answer ended, once that is known."""
        return self._answer.finish_reason

    @property
    def is_finish_reason_missing(self) -> bool:
        """Whether the answer ended well without a stop reason."""
        return self._answer.is_finish_reason_missing

    @property
    def usage(self) -> Usage:
        """The engine's counts so far."""
        return self._answer.usage

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Take one read; what its whole events say, up to a fault, which sets `failure`."""
        return [said for heard in self.hear(data) for said in heard.says]

    def hear(self, data: bytes) -> Iterator[Heard]:
        """Take one read; its good events one by one. To be read to the end."""
        if self._is_over:
            return
        try:
            found, is_too_long = self._decoder.feed(data), False
        except SseTooLong as fault:
            found, is_too_long = fault.events, True
        yield from self._hear_all(found)
        if is_too_long:
            self._fail(problem(Code.UPSTREAM_ERROR))

    def feed_whole(self, body: bytes) -> list[StreamEvent]:
        """Take one JSON reply where a stream was asked for: all it says; the stream is done."""
        out: list[StreamEvent] = []
        try:
            _take_reply(body, self._answer, out)
        except UpstreamFailed as failed:
            self._fail(failed.problem)
            return []
        self.events += 1
        return out

    def close(self) -> list[StreamEvent]:
        """The engine closed cleanly: the last words if any, or `failure` set if it was too soon."""
        return [said for heard in self.hear_rest() for said in heard.says]

    def hear_rest(self) -> Iterator[Heard]:
        """`close`, as good events; to be read to the end."""
        rest = self._decoder.finish()  # some engines leave out the last blank line
        if rest is not None and not self._is_over and not self.is_finished:
            yield from self._hear_all([rest])
        if not self.is_finished:
            self._fail(problem(Code.UPSTREAM_ERROR))

    @property
    def _is_over(self) -> bool:
        return self.is_done or self.failure is not None

    def _fail(self, what: Problem) -> None:
        if not self._is_over:
            self.failure = what

    def _hear_all(self, events: Iterable[SseEvent]) -> Iterator[Heard]:
        for event in events:
            try:
                heard = self._heard(event)
            except _BROKEN:
                self._fail(problem(Code.UPSTREAM_ERROR))
            except UpstreamFailed as failed:
                self._fail(failed.problem)
            else:
                yield heard
            if self._is_over:
                break

    def _heard(self, sse: SseEvent) -> Heard:
        """One event and what it says. Raises UpstreamFailed or msgspec.DecodeError if broken."""
        out: list[StreamEvent] = []
        if sse.data == DONE:  # of engines that end every stream with it
            self.events += 1
            self._answer.stop(out)
            return Heard(b"", AnthropicEvent("message_stop"), out)
        event, data = _EVENT.decode(sse.data), sse.data
        if not event.type and sse.event:  # named outside only
            event.type = sse.event
            data = bytes(with_members(data, {"type": raw_of(sse.event)}))
        if event.type != "ping":
            self.events += 1
        if event.type == "error" or is_given(event.error):
            raise UpstreamFailed(error_in(sse.data))
        if not is_utf8(sse.data):  # the decoder looks only at what it decodes
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        self._answer.take(event, out)
        return Heard(data, event, out)
