"""Both SDKs ask real llama.cpp servers in every dialect and way, whatever the servers speak."""

import json
from pathlib import Path

import pytest

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.pair import ALIAS, Pair, llamacpp_pair
from tests.engines.scripted_model import COUNTING, GREETING, STRUCTURED
from tests.sdks.asks import Ask, City
from tests.sdks.speakers import DIALECTS, MODES, WAYS, Asking, reaching
from tests.support.final_said import Said

pytestmark = pytest.mark.engine

ROME, OSLO = {"city": "Rome"}, {"city": "Oslo"}
KNOWN = {
    Ask(text="hello", model=ALIAS): Said("", GREETING.text, (), "stop"),
    Ask(text="ponder", model=ALIAS, thinks=True): Said("Let me see.", "Forty-two.", (), "stop"),
    Ask(text="hello", model=ALIAS, tools=("get_weather",)): Said(
        "", "", (("get_weather", ROME),), "tool_calls"
    ),
    Ask(text="hello", model=ALIAS, tools=("get_weather", "get_time")): Said(
        "", "", (("get_weather", ROME), ("get_time", OSLO)), "tool_calls"
    ),
    Ask(text="which city", model=ALIAS, schema=City): Said("", STRUCTURED.text, (), "stop"),
}
CUT = Ask(text=COUNTING.when, model=ALIAS, limit=4)
NOBODY = Ask(model="nobody")
TOO_LONG = Ask(text="a " * 300_000, model=ALIAS)


def stripped(said: Said) -> Said:
    """Without blanks at the ends, and JSON as JSON."""
    text = said.text.strip()
    if text.startswith("{"):
        text = json.dumps(json.loads(text))
    return Said(said.thinking.strip(), text, said.calls, said.reason)


async def ask_for_all(asking: Asking, dialect: str) -> None:
    """Every known answer in every way; an answer that is cut; two errors."""
    errors = DIALECTS[dialect].errors
    for way in WAYS:
        for ask, known in KNOWN.items():
            answer = await asking(way, ask)
            assert stripped(answer.said) == stripped(known), (way, ask)
            if ask.schema is not None and way != "streamed":
                assert answer.parsed == City(city="Oslo")
        if dialect == "chat" and way == "helped":
            with pytest.raises(errors.LengthFinishReasonError):
                await asking(way, CUT)
        else:
            cut = await asking(way, CUT)
            assert cut.said.text.strip() == "".join(COUNTING.pieces[:4]).strip()
            assert cut.said.reason == "length"
        with pytest.raises(errors.NotFoundError):
            await asking(way, NOBODY)
        with pytest.raises(errors.BadRequestError, match=r"context|too long"):
            await asking(way, TOO_LONG)


async def ask_in_all_dialects(pair: Pair) -> None:
    """With both kinds of client."""
    for dialect, speaker in DIALECTS.items():
        for mode in MODES:
            async with reaching(speaker, mode, f"http://127.0.0.1:{pair.port}", "any") as asking:
                await ask_for_all(asking, dialect)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("engines_speak", ["openai", "anthropic"])
async def test_the_known_answers_arrive_in_every_way(engines_speak: str, tmp_path: Path) -> None:
    """Text, thoughts, calls, two calls at once, structured output, limits and errors."""
    async with llamacpp_pair(tmp_path, dialect=engines_speak) as pair:
        await ask_in_all_dialects(pair)
        assert await pair.active() == 0
