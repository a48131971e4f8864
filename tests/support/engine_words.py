"""What an engine of each dialect says, piece by piece, for scripts that serve both."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from anvil_trio.config.model import TierDialect
from tests.support import chunks
from tests.unit.dialects import anthropic

__all__ = ["ENGINES", "EngineWords"]


@dataclass(frozen=True, slots=True)
class EngineWords:
    """The parts of a streamed answer in their order, and a whole one."""

    begin: bytes
    text: Callable[[str], bytes]
    finish: bytes
    done: bytes
    unary: Callable[[str], bytes]


def _message(text: str) -> bytes:
    said = {"type": "text", "text": text}
    whole = json.loads(anthropic.captured("vllm-length.json"))
    return json.dumps({**whole, "content": [said], "stop_reason": "end_turn"}).encode()


_STOP = {"stop_reason": "end_turn", "stop_sequence": None}

ENGINES = {
    TierDialect.OPENAI: EngineWords(
        chunks.ROLE, chunks.text, chunks.STOP, chunks.DONE, chunks.unary_body
    ),
    TierDialect.ANTHROPIC: EngineWords(
        anthropic.started(input_tokens=3) + anthropic.begun(0, "text", text=""),
        lambda piece: anthropic.more(0, "text", piece),
        anthropic.stopped(0) + anthropic.event("message_delta", delta=_STOP, usage={}),
        anthropic.event("message_stop"),
        _message,
    ),
}
