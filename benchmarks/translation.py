"""What one streamed event costs in each pair of dialects, early and late in a long stream.

CPU time, best of several runs. Run `python -m benchmarks translation` or
`python -m benchmarks.translation`.
"""

import json
import time
from collections.abc import Mapping, Sequence
from itertools import product

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, ClientDialect, StreamTranslator
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from benchmarks.report import print_table

__all__ = ["CHAT_KINDS", "ENGINES", "EVENTS", "KINDS", "REQUESTS", "main", "measure"]

EVENTS = 50_000
REPEATS = 3
TIER = Tier(id="t", auth_env="KEY", base_url="http://127.0.0.1:1", model="served-model")
ENGINES = tuple(TierDialect)
MESSAGE = [{"role": "user", "content": "hi"}]
REQUESTS: Mapping[ClientDialect, dict[str, object]] = {
    CHAT: {"messages": MESSAGE},
    MESSAGES: {"messages": MESSAGE, "max_tokens": 64},
    RESPONSES: {"input": "hi"},
}


def chunk(delta: dict[str, object]) -> bytes:
    """One event as llama.cpp writes it."""
    choice = {"finish_reason": None, "index": 0, "delta": delta}
    data = {
        "choices": [choice],
        "created": 1795999447,
        "id": "chatcmpl-KXJ0Lrhft1pA1mIqsumcFIpiNiMAzpym",
        "model": "served-model",
        "system_fingerprint": "b0-unknown",
        "object": "chat.completion.chunk",
    }
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def call(function: dict[str, str], **more: str) -> dict[str, object]:
    """A piece of the one call; only the first has an id and a type."""
    return {"tool_calls": [{"index": 0, **more, "function": function}]}


CALL = call({"name": "f", "arguments": '{"x":"'}, id="call_1", type="function")


def event(kind: str, **members: object) -> bytes:
    """One event of an engine that speaks Messages."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def block(**members: object) -> bytes:
    """The beginning of such a stream, up to its one open block."""
    message = {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    begun = event("content_block_start", index=0, content_block=members)
    return event("message_start", message=message) + begun


def more(**delta: str) -> bytes:
    """More of it."""
    return event("content_block_delta", index=0, delta=delta)


CHAT_KINDS: Mapping[str, tuple[bytes, bytes]] = {  # the first event, and the one that is repeated
    "text": (chunk({"role": "assistant", "content": ""}), chunk({"content": " token"})),
    "reasoning": (chunk({"role": "assistant"}), chunk({"reasoning_content": " token"})),
    "arguments": (chunk(CALL), chunk(call({"arguments": " token"}))),
}


MESSAGES_KINDS: Mapping[str, tuple[bytes, bytes]] = {
    "text": (block(type="text", text=""), more(type="text_delta", text=" token")),
    "reasoning": (
        block(type="thinking", thinking="", signature=""),
        more(type="thinking_delta", thinking=" token"),
    ),
    "arguments": (
        block(type="tool_use", id="call_1", name="f", input={})
        + more(type="input_json_delta", partial_json='{"x":"'),
        more(type="input_json_delta", partial_json=" token"),
    ),
}
KINDS = {TierDialect.OPENAI: CHAT_KINDS, TierDialect.ANTHROPIC: MESSAGES_KINDS}


def translator_of(dialect: ClientDialect, engine: TierDialect) -> StreamTranslator:
    """A translator for one plain request to a tier of such engines."""
    body = {"model": "llm.primary", "stream": True, **REQUESTS[dialect]}
    request = dialect.parse_request(json.dumps(body).encode())
    assert isinstance(request, ChatRequest)
    return dialect.translator(request, TIER.model_copy(update={"dialect": engine}), 1 << 24)


def measure(
    dialect: ClientDialect, engine: TierDialect, kind: str, events: int = EVENTS
) -> Sequence[float]:
    """Seconds for one event in each tenth of a stream of so many."""
    first, repeated = KINDS[engine][kind]
    translator = translator_of(dialect, engine)
    translator.feed(first)
    tenth = events // 10
    costs = []
    for _ in range(10):
        started = time.process_time()
        for _ in range(tenth):
            translator.feed(repeated)
        costs.append((time.process_time() - started) / tenth)
    assert translator.failure is None
    return costs


def main() -> None:
    """Print a row for each pair of dialects and kind of event."""
    rows = []
    for engine, dialect, kind in product(ENGINES, REQUESTS, CHAT_KINDS):
        costs = min((measure(dialect, engine, kind) for _ in range(REPEATS)), key=sum)
        figures = (sum(costs) / 10, costs[0], costs[-1])
        name = f"{engine.value} to {dialect.name}, {kind}"
        rows.append([name, *(f"{cost * 1e6:.2f}" for cost in figures)])
    print_table(["us per event", "mean", "first tenth", "last tenth"], rows)


if __name__ == "__main__":
    main()
