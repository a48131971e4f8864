"""What one streamed event costs in each pair of dialects, early and late in a long stream.

The CPU time of this process, which does nothing else; best of several runs.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import product

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, ClientDialect, StreamTranslator
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from benchmarks.plot import Chart
from benchmarks.report import add_outputs, print_table, write_outputs

__all__ = ["CHAT_KINDS", "ENGINES", "EVENTS", "KINDS", "REQUESTS", "main", "measure"]

EVENTS = 50_000
REPEATS = 3
TIER = Tier(id="t", auth_env="KEY", base_url="http://127.0.0.1:1", model="served-model")
ENGINES = tuple(TierDialect)
_COLUMNS = ("mean", "first tenth", "last tenth")
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each pair of dialects and kind of event."""
    options = _parser().parse_args(arguments)
    figures = {}
    for engine, dialect, kind in product(ENGINES, REQUESTS, CHAT_KINDS):
        runs = (measure(dialect, engine, kind, options.events) for _ in range(REPEATS))
        costs = [cost * 1e6 for cost in min(runs, key=sum)]
        figures[f"{engine.value} to {dialect.name}, {kind}"] = sum(costs) / 10, costs[0], costs[-1]
    rows = [[name, *(f"{cost:.2f}" for cost in costs)] for name, costs in figures.items()]
    print_table(["CPU us per event", *_COLUMNS], rows)
    print(f"CPU of this process: {time.process_time():.1f} s")
    series = {
        column: [costs[at] for costs in figures.values()] for at, column in enumerate(_COLUMNS)
    }
    write_outputs(
        options,
        "What one streamed event costs to translate",
        {name: dict(zip(_COLUMNS, costs, strict=True)) for name, costs in figures.items()},
        [Chart("CPU microseconds per event", list(figures), series)],
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks translation", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="events of each stream")
    add_outputs(parser, "translation")
    return parser


if __name__ == "__main__":
    sys.exit(main())
