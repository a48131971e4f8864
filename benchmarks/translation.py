"""What one streamed event costs in each client dialect, early and late in a long stream.

CPU time, best of several runs. Run `python -m benchmarks translation` or
`python -m benchmarks.translation`.
"""

import json
import time
from collections.abc import Mapping, Sequence

from anvil_trio.config.model import Tier
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, ClientDialect, StreamTranslator
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from benchmarks.report import print_table

__all__ = ["EVENTS", "KINDS", "REQUESTS", "main", "measure"]

EVENTS = 50_000
REPEATS = 3
TIER = Tier(id="t", auth_env="KEY", base_url="http://127.0.0.1:1", model="served-model")
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


KINDS: Mapping[str, tuple[bytes, bytes]] = {  # the first event, and the one that is repeated
    "text": (chunk({"role": "assistant", "content": ""}), chunk({"content": " token"})),
    "reasoning": (chunk({"role": "assistant"}), chunk({"reasoning_content": " token"})),
    "arguments": (chunk(CALL), chunk(call({"arguments": " token"}))),
}


def translator_of(dialect: ClientDialect) -> StreamTranslator:
    """A translator for one plain request."""
    body = {"model": "llm.primary", "stream": True, **REQUESTS[dialect]}
    request = dialect.parse_request(json.dumps(body).encode())
    assert isinstance(request, ChatRequest)
    return dialect.translator(request, TIER, 1 << 24)


def measure(dialect: ClientDialect, kind: str, events: int = EVENTS) -> Sequence[float]:
    """Seconds for one event in each tenth of a stream of so many."""
    first, event = KINDS[kind]
    translator = translator_of(dialect)
    translator.feed(first)
    tenth = events // 10
    costs = []
    for _ in range(10):
        started = time.process_time()
        for _ in range(tenth):
            translator.feed(event)
        costs.append((time.process_time() - started) / tenth)
    assert translator.failure is None
    return costs


def main() -> None:
    """Print a row for each dialect and kind of event."""
    rows = []
    for dialect in REQUESTS:
        for kind in KINDS:
            costs = min((measure(dialect, kind) for _ in range(REPEATS)), key=sum)
            figures = (sum(costs) / 10, costs[0], costs[-1])
            rows.append([f"{dialect.name}, {kind}", *(f"{cost * 1e6:.2f}" for cost in figures)])
    print_table(["us per event", "mean", "first tenth", "last tenth"], rows)


if __name__ == "__main__":
    main()
