"""One answer of an engine that speaks Anthropic Messages, event by event, as stream events."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated

import msgspec

from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import MOST_TOKENS, FinishReason, Usage
from anvil_trio.dialects.openai_answer import new_call_id
from anvil_trio.dialects.raw_json import ABSENT, is_given
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["AnthropicAnswer", "AnthropicEvent", "Content", "Delta", "error_in", "reason_of"]

_MAX_CALLS = 512  # of one answer: what is kept of a stream stays small, whatever an engine sends
_MAX_OPEN = 1024  # blocks at a time
_REASONS: Mapping[str, FinishReason] = MappingProxyType({
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "pause_turn": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
})
_STATUSES: Mapping[str, int] = MappingProxyType({
    "invalid_request_error": 400,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
})
"""The statuses of Anthropic's own errors, as far as a caller may be told of them."""

_ENDS_CALLS = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})
_NO_INPUT = frozenset({b"", b"null", b"{}"})
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


class _Thought(msgspec.Struct, gc=False):
    thinking_tokens: _Count | None = None


class _Counts(msgspec.Struct, gc=False):
    """Anthropic's counts: the input without what was read from or written to a cache."""

    input_tokens: _Count | None = None
    cache_read_input_tokens: _Count | None = None
    cache_creation_input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    output_tokens_details: _Thought | None = None


class Content(msgspec.Struct, gc=False):
    """A content block, whole or as it begins."""

    type: str
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT


class Delta(msgspec.Struct, gc=False):
    """More of a block, or of the message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None

    @property
    def is_hollow(self) -> bool:
        """Whether it lacks the very text that its type promises."""
        match self.type:
            case "text_delta":
                return self.text is None
            case "thinking_delta":
                return self.thinking is None
            case "signature_delta":
                return self.signature is None
            case "input_json_delta":
                return self.partial_json is None
            case _:
                return False


class _Message(msgspec.Struct, gc=False):
    usage: msgspec.Raw = ABSENT


class AnthropicEvent(msgspec.Struct, gc=False):
    """One event of a stream."""

    type: str = ""
    index: int = -1  # of an engine that gives none, and not the number of any block
    message: _Message | None = None
    content_block: Content | None = None
    delta: Delta | None = None
    usage: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class _ErrorType(msgspec.Struct, gc=False):
    type: str | None = None


class _Error(msgspec.Struct, gc=False):
    error: _ErrorType | None = None


_COUNTS = msgspec.json.Decoder(_Counts)
_ERROR = msgspec.json.Decoder(_Error)


def error_in(data: bytes) -> Problem:
    """What the caller is told of an error within a 200: Anthropic's type has a status. No raise."""
    try:
        error = _ERROR.decode(data).error
    except (msgspec.DecodeError, RecursionError):
        error = None
    kind = None if error is None else error.type
    return error_problem(data, None if kind is None else _STATUSES.get(kind))


def reason_of(stop_reason: str) -> FinishReason:
    """The record's word for an engine's; STOP for one that nobody knows."""
    return _REASONS.get(stop_reason, FinishReason.STOP)


class _Block:
    """A block that has begun: the number of its call if it is one, and what came of it."""

    __slots__ = ("has_arguments", "input", "is_stopped", "number")

    def __init__(self, number: int | None, given: msgspec.Raw) -> None:
        self.number = number
        self.input = given
        self.has_arguments = self.is_stopped = False


class AnthropicAnswer:
    """Events in, stream events out; the engine's order is kept.

    What Chat and Responses have no word for (redacted thinking, an engine's own tools, citations)
    says nothing here. `finish_reason` is None until told.
    """

    def __init__(self, make_id: Callable[[], str] = new_call_id) -> None:
        self.finish_reason: FinishReason | None = None
        self.is_done = False
        self.is_finish_reason_missing = False
        self.usage = Usage()
        self._make_id = make_id
        self._counts = _Counts()
        self._blocks: dict[int, _Block] = {}  # by the engine's index
        self._unsettled: list[_Block] = []  # calls that may have no arguments
        self._ids: set[str] = set()

    @property
    def calls(self) -> int:
        """How many tool calls have begun."""
        return len(self._ids)

    def take(self, event: AnthropicEvent, out: list[StreamEvent]) -> None:
        """Add what one event says; content after the end says nothing.

        Raises UpstreamFailed where no caller could use it.
        """
        is_ended = self.finish_reason is not None
        match event.type:
            case "content_block_delta" if event.delta is not None and not is_ended:
                self._continue(event.index, event.delta, out)
            case "content_block_start" if event.content_block is not None and not is_ended:
                self.begin(event.index, event.content_block, out)
            case "content_block_stop" if event.index in self._blocks:
                self._blocks[event.index].is_stopped = True
            case "message_start" if event.message is not None:
                self.count(event.message.usage, out, is_start=True)
            case "message_delta":
                self._end(event, out)
            case "message_stop":
                self.stop(out)

    def begin(self, index: int, content: Content, out: list[StreamEvent]) -> None:
        """A block begins; some engines send all of it at once."""
        self._settle([block for block in self._unsettled if block.is_stopped], out)
        number = None
        if content.type == "tool_use":
            number = self._begin_call(content, out)
        elif content.type == "text" and content.text:
            out.append(TextDelta(content.text))
        elif content.type == "thinking":
            out.extend(_thoughts(content.thinking, content.signature))
        block = self._blocks[index] = _Block(number, content.input)
        if number is not None:
            self._unsettled.append(block)
        if len(self._blocks) > _MAX_OPEN or self.calls > _MAX_CALLS:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))

    def count(self, raw: msgspec.Raw, out: list[StreamEvent], *, is_start: bool = False) -> None:
        """Add a report of counts. The output that a start reports is not yet one."""
        if not is_given(raw):
            return
        try:
            counts = _COUNTS.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return
        if is_start:
            counts.output_tokens = None
        self._counts = _merged(self._counts, counts)
        self.usage = _usage_of(self._counts)
        if self.usage != Usage():
            out.append(UsageReported(self.usage))

    def finish(
        self, reason: FinishReason, out: list[StreamEvent], stop_sequence: str | None = None
    ) -> None:
        """Add the end, once. Calls that have ended without arguments get their `{}`."""
        if self.finish_reason is not None:
            return
        if reason in _ENDS_CALLS:
            self._settle(list(self._unsettled), out)
        self.finish_reason = reason
        out.append(Finished(reason, stop_sequence))

    def stop(self, out: list[StreamEvent]) -> None:
        """The engine's last word; an answer without a reason is given one."""
        if self.finish_reason is None:
            self.is_finish_reason_missing = True
            self.finish(FinishReason.TOOL_CALLS if self._ids else FinishReason.STOP, out)
        self.is_done = True

    def _begin_call(self, content: Content, out: list[StreamEvent]) -> int:
        if not content.name:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        call_id = content.id or ""
        if not call_id or call_id in self._ids:
            call_id = self._make_id()
        number = len(self._ids)
        self._ids.add(call_id)
        out.append(CallBegan(number, call_id, content.name))
        return number

    def _continue(self, index: int, delta: Delta, out: list[StreamEvent]) -> None:
        if delta.text:
            out.append(TextDelta(delta.text))
        out.extend(_thoughts(delta.thinking, delta.signature))
        block = self._blocks.get(index)
        if delta.partial_json and block is not None and block.number is not None:
            if block.is_stopped and delta.partial_json.strip():
                raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))  # no caller could use this call
            block.has_arguments = True
            out.append(ArgumentsDelta(block.number, delta.partial_json))

    def _end(self, event: AnthropicEvent, out: list[StreamEvent]) -> None:
        """The counts come first: an encoder may end its stream with the reason."""
        self.count(event.usage, out)
        delta = event.delta
        if delta is not None and delta.stop_reason:
            self.finish(reason_of(delta.stop_reason), out, delta.stop_sequence)

    def _settle(self, calls: Iterable[_Block], out: list[StreamEvent]) -> None:
        """Give calls whose arguments did not stream those of their start, or none.

        Only calls that have ended well: one that was cut keeps what it had.
        """
        for block in calls:
            self._unsettled.remove(block)
            if not block.has_arguments and block.number is not None:
                whole = bytes(block.input)
                text = "{}" if whole in _NO_INPUT else whole.decode()
                out.append(ArgumentsDelta(block.number, text))


def _thoughts(thinking: str | None, signature: str | None) -> list[StreamEvent]:
    out: list[StreamEvent] = [ReasoningDelta(thinking)] if thinking else []
    return [*out, SignatureDelta(signature)] if signature else out


def _merged(earlier: _Counts, later: _Counts) -> _Counts:
    """Field by field the later report counts, where it says anything."""
    given = {
        name: found
        for name in later.__struct_fields__
        if (found := getattr(later, name)) is not None
    }
    return msgspec.structs.replace(earlier, **given)


def _usage_of(counts: _Counts) -> Usage:
    """The prompt is all that was read, cached or not; a prompt of nothing was not counted."""
    parts = (
        counts.input_tokens,
        counts.cache_read_input_tokens,
        counts.cache_creation_input_tokens,
    )
    thought = counts.output_tokens_details
    return Usage(
        prompt_tokens=sum(part or 0 for part in parts) or None,
        completion_tokens=counts.output_tokens,
        cached_tokens=counts.cache_read_input_tokens,
        reasoning_tokens=None if thought is None else thought.thinking_tokens,
    )
