"""OpenAI's SDK asks real llama.cpp servers through `/v1/responses`, and gets the known answers."""

from pathlib import Path

import openai
import pytest

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.pair import ALIAS, llamacpp_pair
from tests.engines.scripted_model import COUNTING, GREETING

pytestmark = pytest.mark.engine


async def test_the_known_answers_arrive_as_responses(tmp_path: Path) -> None:
    """Whole, streamed, continued with what was answered before, and cut by a limit."""
    async with llamacpp_pair(tmp_path) as pair:
        url = f"http://127.0.0.1:{pair.port}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            first = await client.responses.create(model=ALIAS, input="hello")
            assert (first.status, first.output_text) == ("completed", GREETING.text)
            assert first.model == ALIAS
            assert first.usage is not None
            assert first.usage.output_tokens >= len(GREETING.pieces)
            hello = {"role": "user", "content": [{"type": "input_text", "text": "hello"}]}
            history = [hello, *(item.to_dict() for item in first.output), hello]
            async with client.responses.stream(
                model=ALIAS,
                input=history,  # type: ignore[arg-type]
                instructions="Greet.",
            ) as stream:
                final = await stream.get_final_response()
            assert (final.status, final.output_text) == ("completed", GREETING.text)
            cut = await client.responses.create(
                model=ALIAS, input=COUNTING.when, max_output_tokens=4
            )
            assert cut.status == "incomplete"
            assert cut.output_text == "".join(COUNTING.pieces[:4]).strip()
