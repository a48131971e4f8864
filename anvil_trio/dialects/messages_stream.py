"""A reply stream in Anthropic's grammar, made from what any engine says."""

from collections.abc import Set
from uuid import uuid4

import msgspec

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
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.messages_blocks import Blocks
from anvil_trio.dialects.messages_errors import error_event
from anvil_trio.dialects.messages_usage import estimate_completion, render_usage, stop_reason_of
from anvil_trio.dialects.raw_json import encode
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["MessagesStream", "new_message_id"]

_PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_CUTS_NOTHING = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


def new_message_id() -> str:
    """An id of Anthropic's kind for one reply."""
    return f"msg_{uuid4().hex[:24]}"


class MessagesStream:
    """A `StreamEncoder`: one `message_start`, blocks one after another, one `message_stop`.

    `prompt_tokens` is the estimate for the start; the true counts come with the end. The caller's
    `stop_sequences` are those that may be named as the reason.
    """

    def __init__(
        self,
        model: str,
        *,
        prompt_tokens: int,
        stop_sequences: Set[str],
        max_waiting_bytes: int,
        message_id: str | None = None,
    ) -> None:
        self._model = model
        self._prompt_tokens = prompt_tokens
        self._stop_sequences = stop_sequences
        self._message_id = message_id or new_message_id()
        self._blocks = Blocks(max_waiting_bytes)
        self._end = Finished(FinishReason.STOP)
        self._usage = Usage()
        self._said_bytes = 0

    def start(self) -> bytes:
        """`message_start` with the estimate of the input, and a `ping`."""
        return _event(b"message_start", {"message": msgspec.Raw(self.opening())}) + _PING

    def opening(self) -> bytes:
        """The message as it begins, without content or an end."""
        message: dict[str, object] = {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": self._prompt_tokens, "output_tokens": 0},
        }
        return encode(message)

    def encode(self, event: StreamEvent) -> bytes:
        """What an event is worth now. Raises UpstreamFailed where a call could not be used."""
        out: list[bytes] = []
        match event:
            case TextDelta(text):
                self._blocks.text(self._said(text), out)
            case ReasoningDelta(text):
                self._blocks.thinking(self._said(text), out)
            case ArgumentsDelta(number, text):
                self._blocks.arguments(number, self._said(text), out)
            case CallBegan(number, call_id, name):
                self._blocks.begin_call(number, call_id, self._said(name), out)
            case SignatureDelta(signature):
                self._blocks.signature(signature, out)
            case _:
                self._note(event)
        return b"".join(out)

    def _note(self, event: Finished | UsageReported) -> None:
        """What shows only at the end."""
        if isinstance(event, UsageReported):
            self._usage = event.usage
        elif event.reason in _CUTS_NOTHING and self._blocks.has_cut_calls:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        else:
            self._end = event

    def finish(self) -> bytes:
        """All blocks closed, then `message_delta` with the counts, then `message_stop`."""
        out: list[bytes] = []
        self._blocks.close_all(out)
        reason, sequence = stop_reason_of(
            self._end, self._stop_sequences, has_calls=self._blocks.has_calls
        )
        delta = {"stop_reason": reason, "stop_sequence": sequence}
        usage = render_usage(self._usage, self._prompt_tokens, self._said_bytes)
        out += (_event(b"message_delta", {"delta": delta, "usage": usage}), _MESSAGE_STOP)
        return b"".join(out)

    @property
    def completion_estimate(self) -> int:
        """What has been said, in tokens."""
        return estimate_completion(self._said_bytes)

    @staticmethod
    def terminal_error(what: Problem) -> bytes:
        """`error`, after which nothing comes."""
        return error_event(what)

    def _said(self, text: str) -> str:
        self._said_bytes += len(text) if text.isascii() else len(text.encode())
        return text


def _event(name: bytes, members: dict[str, object]) -> bytes:
    data = encode({"type": name.decode(), **members})
    return b"event: %b\ndata: %b\n\n" % (name, data)
