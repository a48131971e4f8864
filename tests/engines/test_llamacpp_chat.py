"""OpenAI's SDK asks real llama.cpp servers through `/v1/chat/completions` for the known answers."""

from pathlib import Path
from typing import Any

import openai
import pytest

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.pair import ALIAS, llamacpp_pair
from tests.engines.scripted_model import COUNTING, GREETING
from tests.sdks.asks import openai_tool

pytestmark = pytest.mark.engine

HELLO: Any = {"role": "user", "content": "hello"}


async def test_the_known_answers_arrive_as_completions(tmp_path: Path) -> None:
    """Whole, streamed, continued with what was answered before, and cut by a limit."""
    async with llamacpp_pair(tmp_path) as pair:
        url = f"http://127.0.0.1:{pair.port}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            api = client.chat.completions
            first = await api.create(model=ALIAS, messages=[HELLO])
            (choice,) = first.choices
            assert (choice.message.content, choice.finish_reason) == (GREETING.text, "stop")
            assert first.model == ALIAS
            assert first.usage is not None
            assert first.usage.completion_tokens >= len(GREETING.pieces)
            history: Any = [HELLO, choice.message.to_dict(), HELLO]
            options: Any = {"include_usage": True}
            async with api.stream(model=ALIAS, messages=history, stream_options=options) as stream:
                final = await stream.get_final_completion()
            assert final.choices[0].message.content == GREETING.text
            assert final.usage is not None
            cut = await api.create(
                model=ALIAS, messages=[{"role": "user", "content": COUNTING.when}], max_tokens=4
            )
            assert cut.choices[0].finish_reason == "length"
            assert cut.choices[0].message.content == "".join(COUNTING.pieces[:4]).strip()


async def test_a_tools_answer_is_sent_back(tmp_path: Path) -> None:
    """A call from the stream helper, then its result: the engine goes on from there."""
    async with llamacpp_pair(tmp_path) as pair:
        url = f"http://127.0.0.1:{pair.port}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            tools: Any = [openai_tool("get_weather")]
            async with client.chat.completions.stream(
                model=ALIAS, messages=[HELLO], tools=tools
            ) as stream:
                message = (await stream.get_final_completion()).choices[0].message
            assert message.tool_calls is not None
            (call,) = message.tool_calls
            assert call.function.parsed_arguments == {"city": "Rome"}
            told = {"role": "assistant", "tool_calls": [call.to_dict()]}
            result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
            messages: Any = [HELLO, told, result]
            last = await client.chat.completions.create(model=ALIAS, messages=messages, tools=tools)
            assert last.choices[0].message.content == GREETING.text
