"""Replies of engines that speak Chat Completions, decoded into what any encoder reads."""

from collections.abc import Callable, Iterable

import msgspec

from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.events import ReasoningDelta, StreamEvent, TextDelta, UsageReported
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.openai_answer import SaidDelta, SpokenAnswer, new_call_id
from anvil_trio.dialects.raw_json import ABSENT, is_given
from anvil_trio.dialects.sse import DONE, SseDecoder, SseEvent, SseTooLong
from anvil_trio.dialects.text_runs import TextChunk, TextRuns
from anvil_trio.dialects.usage import merged_usage, usage_of
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["OpenAiEvents", "events_of_reply"]

_BROKEN = (msgspec.DecodeError, RecursionError)


class _Choice(msgspec.Struct, gc=False):
    """An answer of a reply. What stopped it: vLLM's `stop_reason`, SGLang's `matched_stop`."""

    index: int = 0
    delta: SaidDelta | None = None
    message: SaidDelta | None = None
    finish_reason: str | None = None
    stop_reason: object = None
    matched_stop: object = None

    @property
    def stop_sequence(self) -> str | None:
        """The text that ended the answer, where the engine names it."""
        found = self.stop_reason or self.matched_stop
        return found if isinstance(found, str) else None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT
    kind: object = msgspec.field(name="object", default=None)

    @property
    def is_error(self) -> bool:
        return self.kind == "error" or is_given(self.error)


_CHUNK = msgspec.json.Decoder(_Chunk)


def events_of_reply(
    body: bytes, make_id: Callable[[], str] = new_call_id
) -> tuple[StreamEvent, ...]:
    """What a whole reply says, its end and its counts last.

    Raises UpstreamFailed if it is not a reply: malformed, without a message, or an error object.
    """
    out: list[StreamEvent] = []
    _take_reply(body, SpokenAnswer(make_id), out)
    return tuple(out)


def _take_reply(body: bytes, answer: SpokenAnswer, out: list[StreamEvent]) -> Usage:
    try:
        reply = _CHUNK.decode(body)
        if reply.is_error:
            raise UpstreamFailed(error_problem(body))
        if not reply.choices or reply.choices[0].message is None:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        choice = reply.choices[0]
        answer.take(reply.choices[0].message, out)
    except _BROKEN:
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None
    answer.finish(choice.finish_reason or None, out, choice.stop_sequence)
    usage = usage_of(reply.usage) if is_given(reply.usage) else Usage()
    if usage != Usage():
        out.append(UsageReported(usage))
    return usage


class OpenAiEvents:
    """Decodes one stream (`EventDecoder`); its end rules are those of docs/dialects.md.

    Only the first answer of a stream is read: no other dialect has a word for a second one.
    """

    def __init__(self, max_event_bytes: int, make_id: Callable[[], str] = new_call_id) -> None:
        self.events = 0
        self.is_done = False
        self.is_finish_reason_missing = False
        self.usage = Usage()
        self.failure: Problem | None = None
        self._decoder = SseDecoder(max_event_bytes)
        self._runs = TextRuns(max_event_bytes)
        self._answer = SpokenAnswer(make_id)
        self._index: int | None = None  # of the answer that is read

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the answer ended, once that is known."""
        return self._answer.finish_reason

    @property
    def is_finished(self) -> bool:
        """Whether the engine has said that the answer is whole."""
        return self.is_done or self._answer.finish_reason is not None

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Take one read; what its whole events say, up to a fault, which sets `failure`."""
        out: list[StreamEvent] = []
        if self._is_over:
            return out
        try:
            self._take_whole(self._decoder.whole(data), out)
        except SseTooLong:
            self._fail(problem(Code.UPSTREAM_ERROR))
        if self._decoder.is_too_long:
            self._fail(problem(Code.UPSTREAM_ERROR))
        return out

    def feed_whole(self, body: bytes) -> list[StreamEvent]:
        """Take one JSON reply where a stream was asked for: all it says; the stream is done."""
        out: list[StreamEvent] = []
        try:
            self.usage = _take_reply(body, self._answer, out)
        except UpstreamFailed as failed:
            self._fail(failed.problem)
            return []
        self.events += 1
        self.is_done = True
        return out

    def close(self) -> list[StreamEvent]:
        """The engine closed cleanly: the last words if any, or `failure` set if it was too soon."""
        out: list[StreamEvent] = []
        rest = self._decoder.finish()  # some engines leave out the last blank line
        if rest is not None and not self._is_over and not self.is_finished:
            self._take_all([rest], out)
        if not self.is_finished:
            self._fail(problem(Code.UPSTREAM_ERROR))
        return out

    @property
    def _is_over(self) -> bool:
        return self.is_done or self.failure is not None

    def _fail(self, what: Problem) -> None:
        if not self._is_over:
            self.failure = what

    def _take_whole(self, whole: bytes, out: list[StreamEvent]) -> None:
        """The events of one read: runs of text at once, whatever else one by one."""
        at = 0
        while at < len(whole) and not self._is_over:
            run = self._runs.find(whole, at) if self._index == 0 and not self.is_finished else None
            if run is not None:
                data, chunks = run
                at += len(data)
                self.events += len(chunks)
                _take_texts(chunks, out)
                continue
            end = whole.find(b"\n\n", at)
            if end < 0:
                break  # a line feed more than a blank line has
            event = self._decoder.event_in(whole[at:end])
            at = end + 2
            if event is not None:
                self._take_all([event], out)

    def _take_all(self, events: Iterable[SseEvent], out: list[StreamEvent]) -> None:
        for event in events:
            self.events += 1
            try:
                self._take(event, out)
            except _BROKEN:
                self._fail(problem(Code.UPSTREAM_ERROR))
            except UpstreamFailed as failed:
                self._fail(failed.problem)
            if self._is_over:
                break

    def _take(self, event: SseEvent, out: list[StreamEvent]) -> None:
        """What one event says. Raises UpstreamFailed or msgspec.DecodeError if it is broken."""
        if event.data == DONE:
            self._take_done(out)
            return
        chunk = _CHUNK.decode(event.data)
        if chunk.is_error or event.event == "error":
            raise UpstreamFailed(error_problem(event.data))
        for choice in chunk.choices or ():
            self._take_choice(choice, out)
        if is_given(chunk.usage):
            self.usage = merged_usage(self.usage, usage_of(chunk.usage))
            out.append(UsageReported(self.usage))

    def _take_choice(self, choice: _Choice, out: list[StreamEvent]) -> None:
        if self._index is None:
            self._index = choice.index
        elif choice.index != self._index:
            return
        if choice.delta is not None:
            self._answer.take(choice.delta, out)
        if choice.finish_reason:
            self._answer.finish(choice.finish_reason, out, choice.stop_sequence)

    def _take_done(self, out: list[StreamEvent]) -> None:
        """The engine's last word; an answer without a finish reason is given one."""
        if self._answer.finish_reason is None:
            self.is_finish_reason_missing = True
            self._answer.finish(None, out)
        self.is_done = True


def _take_texts(chunks: Iterable[TextChunk], out: list[StreamEvent]) -> None:
    """What events that are nothing but text say, each its thoughts before its text."""
    for chunk in chunks:
        said = chunk.said
        if said.reasoning_content:
            out.append(ReasoningDelta(said.reasoning_content))
        if said.content:
            out.append(TextDelta(said.content))
