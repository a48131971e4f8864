"""Replies of Messages engines for the dialect tests, in as few words as possible."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects.anthropic_events import AnthropicEvents
from anvil_trio.dialects.events import StreamEvent
from tests.unit.dialects.chats import tier

__all__ = [
    "begun",
    "captured",
    "decoded",
    "ended",
    "engine_tier",
    "event",
    "more",
    "said",
    "started",
    "stopped",
    "stream",
]

STREAMS = [
    "llamacpp-stream",
    "llamacpp-think-stream",
    "llamacpp-tools-stream",
    "vllm-qwen3-think-stream",
    "vllm-stream",
    "vllm-tools-stream",
]
REPLIES = [
    "llamacpp-length",
    "llamacpp-think-unary",
    "llamacpp-tools-unary",
    "sglang-length",
    "sglang-stop",
    "sglang-tools-unary",
    "vllm-length",
    "vllm-qwen3-think-unary",
    "vllm-tools-unary",
]


def engine_tier(compat: dict[str, Any] | None = None, **fields) -> Tier:
    """A direct tier whose engine speaks Messages."""
    return tier(compat, dialect=TierDialect.ANTHROPIC, **fields)


def captured(name: str) -> bytes:
    """What a real engine sent: the body of its reply without the transfer framing."""
    return (Path(__file__).parents[2] / "data" / "messages" / name).read_bytes()


def event(kind: str, **members) -> bytes:
    """One event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def started(**usage) -> bytes:
    """The opening, with counts if any."""
    message = {"id": "m", "role": "assistant", "model": "served", "content": [], "usage": usage}
    return event("message_start", message=message)


def begun(index: int, kind: str, **members) -> bytes:
    """A block begins."""
    return event("content_block_start", index=index, content_block={"type": kind, **members})


def more(index: int, kind: str, text: str) -> bytes:
    """More of a block."""
    member = {"input_json": "partial_json"}.get(kind, kind)
    return event("content_block_delta", index=index, delta={"type": f"{kind}_delta", member: text})


def stopped(index: int) -> bytes:
    """A block ends."""
    return event("content_block_stop", index=index)


def said(text: str, index: int = 0) -> bytes:
    """A whole block of text."""
    return begun(index, "text", text="") + more(index, "text", text) + stopped(index)


def ended(reason: str | None = "end_turn", sequence: str | None = None, **usage) -> bytes:
    """The end; without a reason only the engine's last word."""
    delta = {"stop_reason": reason, "stop_sequence": sequence}
    told = b"" if reason is None else event("message_delta", delta=delta, usage=usage)
    return told + event("message_stop")


def stream(*events: bytes) -> bytes:
    """A whole stream."""
    return started(input_tokens=3) + b"".join(events) + ended(output_tokens=2)


def decoded(data: bytes | Iterable[bytes], make_id=lambda: "made") -> tuple[list[StreamEvent], Any]:
    """What a stream says, and its decoder after its end."""
    decoder = AnthropicEvents(65_536, make_id)
    parts = [data] if isinstance(data, bytes) else data
    out = [one for part in parts for one in decoder.feed(part)]
    return out + decoder.close(), decoder
