"""A whole reply in Anthropic's shape, made from what any engine says."""

from collections.abc import Iterable, Set

import msgspec

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    SignatureDelta,
    StreamEvent,
    TextDelta,
)
from anvil_trio.dialects.ir import FinishReason, RenderedReply, Usage
from anvil_trio.dialects.messages_stream import new_message_id
from anvil_trio.dialects.messages_usage import estimate_completion, render_usage, stop_reason_of
from anvil_trio.dialects.raw_json import encode
from anvil_trio.errors import Code, UpstreamFailed, problem

__all__ = ["render_reply"]

_VALUE: msgspec.json.Decoder[object] = msgspec.json.Decoder(dict[str, object])
_NOTHING = ("", "null")  # how some engines put a call without arguments
_CUTS = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER})


class _Collected:
    """The blocks of one reply, and what ended it."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, object]] = []
        self.arguments: dict[int, list[str]] = {}
        self.calls: dict[int, dict[str, object]] = {}
        self.end = Finished(FinishReason.STOP)
        self.usage = Usage()
        self.said_bytes = 0

    def take(self, event: StreamEvent) -> None:
        """Add one event."""
        match event:
            case TextDelta(text):
                self._grow("text", "text", text)
            case ReasoningDelta(text):
                self._grow("thinking", "thinking", text).setdefault("signature", "")
            case SignatureDelta(signature):
                self._grow("thinking", "signature", signature)
            case CallBegan(number, call_id, name):
                call: dict[str, object] = {"type": "tool_use", "id": call_id, "name": name}
                self.blocks.append(call)
                self.calls[number] = call
                self.arguments[number] = []
            case ArgumentsDelta(number, text):
                self.said_bytes += len(text.encode())
                self.arguments[number].append(text)
            case Finished():
                self.end = event
            case _:
                self.usage = event.usage

    def settle(self) -> None:
        """Give every call its input. One that was cut by a limit is left out: it was never made.

        Raises UpstreamFailed if arguments are no object although nothing was cut.
        """
        for number, call in self.calls.items():
            text = "".join(self.arguments[number]).strip()
            if text in _NOTHING:
                text = "{}"
            try:
                _VALUE.decode(text)
            except (msgspec.DecodeError, RecursionError):
                if self.end.reason not in _CUTS:
                    raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None
                self.blocks.remove(call)
            else:
                call["input"] = msgspec.Raw(text.encode())

    def _grow(self, kind: str, member: str, text: str) -> dict[str, object]:
        """Add text to the newest block if it is of this kind, else to a new one."""
        self.said_bytes += len(text.encode())
        if not self.blocks or self.blocks[-1]["type"] != kind:
            self.blocks.append({"type": kind, member: ""})
        block = self.blocks[-1]
        block[member] = f"{block.get(member, '')}{text}"
        return block


def render_reply(
    events: Iterable[StreamEvent],
    model: str,
    *,
    prompt_tokens: int,
    stop_sequences: Set[str],
) -> RenderedReply:
    """The reply with the caller's own spelling of the model, and what the record should know.

    Raises UpstreamFailed if a call in it could not be used.
    """
    said = _Collected()
    for event in events:
        said.take(event)
    said.settle()
    has_calls = any(block["type"] == "tool_use" for block in said.blocks)
    reason, sequence = stop_reason_of(said.end, stop_sequences, has_calls=has_calls)
    message = {
        "id": new_message_id(),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": said.blocks,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": render_usage(said.usage, prompt_tokens, said.said_bytes),
    }
    return RenderedReply(
        body=encode(message),
        finish_reason=said.end.reason,
        usage=said.usage,
        completion_estimate=(
            estimate_completion(said.said_bytes) if said.usage.completion_tokens is None else None
        ),
    )
