"""Anthropic's SDK asks real llama.cpp servers through `/v1/messages` for the known answers."""

from pathlib import Path
from typing import Any

import anthropic
import pytest

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.pair import ALIAS, llamacpp_pair
from tests.engines.scripted_model import COUNTING, GREETING

pytestmark = pytest.mark.engine

HELLO: Any = {"role": "user", "content": [{"type": "text", "text": "hello"}]}


async def test_the_known_answers_arrive_as_messages(tmp_path: Path) -> None:
    """Whole, streamed, continued with what was answered before, cut by a limit, and counted."""
    async with llamacpp_pair(tmp_path) as pair:
        url = f"http://127.0.0.1:{pair.port}"
        async with anthropic.AsyncAnthropic(base_url=url, api_key="any", max_retries=0) as client:
            first = await client.messages.create(model=ALIAS, max_tokens=64, messages=[HELLO])
            (block,) = first.content
            assert block.to_dict() == {"type": "text", "text": GREETING.text}
            assert (first.model, first.stop_reason) == (ALIAS, "end_turn")
            assert first.usage.output_tokens >= len(GREETING.pieces)
            history: Any = [HELLO, {"role": "assistant", "content": first.content}, HELLO]
            async with client.messages.stream(
                model=ALIAS, max_tokens=64, messages=history, system="Greet."
            ) as stream:
                assert await stream.get_final_text() == GREETING.text
            asked: Any = [{"role": "user", "content": COUNTING.when}]
            cut = await client.messages.create(model=ALIAS, max_tokens=4, messages=asked)
            assert cut.stop_reason == "max_tokens"
            assert cut.content[0].to_dict()["text"] == "".join(COUNTING.pieces[:4]).strip()
            counted = await client.messages.with_raw_response.count_tokens(
                model=ALIAS, messages=[HELLO]
            )
            assert counted.headers["x-anvil-token-count"] == "exact"
            assert (await counted.parse()).input_tokens == first.usage.input_tokens + (
                first.usage.cache_read_input_tokens or 0
            )
