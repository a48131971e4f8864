"""Replies in Chat's shape, made from what an engine of another dialect says."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from uuid import uuid4

from anvil_trio.dialects.argument_scan import ArgumentScan
from anvil_trio.dialects.chat_errors import error_event
from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import FinishReason, RenderedReply, Usage
from anvil_trio.dialects.raw_json import encode
from anvil_trio.dialects.sse import DONE_EVENT, render_event
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["ChatEncoder", "finish_reason", "new_completion_id", "render_usage", "render_whole"]

_CUTS_NOTHING = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})
_REASONS: Mapping[FinishReason, str] = MappingProxyType({
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_CALLS: "stop",
    FinishReason.CONTENT_FILTER: "content_filter",
})


def new_completion_id() -> str:
    """An id of OpenAI's kind for one reply."""
    return f"chatcmpl-{uuid4().hex[:24]}"


class ChatEncoder:
    """A `StreamEncoder`: one role chunk, pieces as they come, one finish reason, `[DONE]`.

    `created` is the wall clock of the reply; counts are told only to a caller who asked.
    """

    completion_estimate = None  # what is not known is not there

    def __init__(
        self, model: str, *, created: int, usage_wanted: bool, completion_id: str | None = None
    ) -> None:
        self._identity: dict[str, object] = {
            "id": completion_id or new_completion_id(),
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._usage_wanted = usage_wanted
        self._usage = Usage()
        self._reason = FinishReason.STOP
        self._scans: dict[int, ArgumentScan] = {}

    def start(self) -> bytes:
        """The chunk that says who speaks."""
        return self._chunk({"role": "assistant", "content": ""})

    def encode(self, event: StreamEvent) -> bytes:
        """One chunk, or none. Raises UpstreamFailed where a cut call would end as a whole one."""
        match event:
            case TextDelta(text):
                return self._chunk({"content": text})
            case ReasoningDelta(text):
                return self._chunk({"reasoning_content": text})
            case ArgumentsDelta(number, text):
                self._scans[number].feed(text)
                return self._call({"index": number, "function": {"arguments": text}})
            case CallBegan(number, call_id, name):
                self._scans[number] = ArgumentScan()
                function = {"name": name, "arguments": ""}
                call = {"index": number, "id": call_id, "type": "function", "function": function}
                return self._call(call)
            case UsageReported(usage):
                self._usage = usage
            case Finished(reason):
                self._end(reason)
            case _:
                pass  # a signature: only its own engine could read it
        return b""

    def finish(self) -> bytes:
        """The finish reason, the counts if they are known and wanted, and `[DONE]`."""
        reason = finish_reason(self._reason, has_calls=bool(self._scans))
        out = self._chunk({}, reason)
        if self._usage_wanted and self._usage != Usage():
            counts = {**self._identity, "choices": [], "usage": render_usage(self._usage)}
            out += render_event(encode(counts))
        return out + DONE_EVENT

    @staticmethod
    def terminal_error(what: Problem) -> bytes:
        """The last event of a stream that failed; no `[DONE]` follows it."""
        return error_event(what)

    def _end(self, reason: FinishReason) -> None:
        if reason in _CUTS_NOTHING and any(scan.is_cut for scan in self._scans.values()):
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        self._reason = reason

    def _call(self, call: object) -> bytes:
        return self._chunk({"tool_calls": [call]})

    def _chunk(self, delta: object, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return render_event(encode({**self._identity, "choices": [choice]}))


class _Collected:
    """All that one reply says."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: dict[int, tuple[CallBegan, list[str]]] = {}
        self.reason = FinishReason.STOP
        self.usage = Usage()

    def take(self, event: StreamEvent) -> None:
        """Add one event; a signature says nothing here."""
        match event:
            case TextDelta(text):
                self.texts.append(text)
            case ReasoningDelta(text):
                self.thoughts.append(text)
            case CallBegan():
                self.calls[event.number] = event, []
            case ArgumentsDelta(number, text):
                self.calls[number][1].append(text)
            case Finished(reason):
                self.reason = reason
            case UsageReported(usage):
                self.usage = usage

    def choice(self) -> dict[str, object]:
        """The one answer."""
        message: dict[str, object] = {
            "role": "assistant",
            "content": "".join(self.texts) or None,
        }
        if self.thoughts:
            message["reasoning_content"] = "".join(self.thoughts)
        if self.calls:
            message["tool_calls"] = [_whole_call(*call) for call in self.calls.values()]
        reason = finish_reason(self.reason, has_calls=bool(self.calls))
        return {"index": 0, "message": message, "finish_reason": reason}


def render_whole(events: Iterable[StreamEvent], model: str, *, created: int) -> RenderedReply:
    """A whole reply with the caller's own spelling of the model."""
    said = _Collected()
    for event in events:
        said.take(event)
    reply: dict[str, object] = {
        "id": new_completion_id(),
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [said.choice()],
    }
    if said.usage != Usage():
        reply["usage"] = render_usage(said.usage)
    return RenderedReply(body=encode(reply), finish_reason=said.reason, usage=said.usage)


def finish_reason(reason: FinishReason, *, has_calls: bool) -> str:
    """OpenAI's word: tool calls whenever there are some and nothing was cut."""
    return "tool_calls" if has_calls and reason in _CUTS_NOTHING else _REASONS[reason]


def render_usage(usage: Usage) -> dict[str, object]:
    """Counts as OpenAI gives them; what is not known is not there."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    made: dict[str, object] = {}
    if prompt is not None:
        made["prompt_tokens"] = prompt
    if completion is not None:
        made["completion_tokens"] = completion
    if prompt is not None and completion is not None:
        made["total_tokens"] = prompt + completion
    if usage.cached_tokens is not None:
        made["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens is not None:
        made["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return made


def _whole_call(begun: CallBegan, pieces: Iterable[str]) -> dict[str, object]:
    function = {"name": begun.name, "arguments": "".join(pieces)}
    return {"id": begun.call_id, "type": "function", "function": function}
