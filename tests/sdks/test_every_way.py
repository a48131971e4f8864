"""Both SDKs, in every dialect and every way to ask: in this process, and over real sockets."""

from dataclasses import replace
from functools import partial

import pytest

from tests.sdks.asks import Answer, Ask, City
from tests.sdks.demo_upstream import answer_from, open_app
from tests.sdks.speakers import DIALECTS, MODES, WAYS, Asking, answering, reaching
from tests.support.asgi import TOKEN
from tests.support.running_router import TOKEN as WIRE_TOKEN
from tests.support.running_router import open_engines, open_router
from tests.support.small_house import ALIAS

ASKS = {
    "text": Ask(),
    "thinking": Ask(thinks=True),
    "a tool": Ask(tools=["get_weather"]),
    "parallel tools": Ask(tools=["get_weather", "get_time"]),
    "thinking and a tool": Ask(tools=["get_weather"], thinks=True),
    "structured output": Ask(schema=City),
}


def check(answer: Answer, ask: Ask, way: str) -> None:
    """What the SDK has is what was asked for."""
    said = answer.said
    assert bool(said.thinking) == ask.thinks
    assert [called for called, _ in said.calls] == list(ask.tools)
    assert all(City.model_validate(arguments).city for _, arguments in said.calls)
    assert bool(said.text) != bool(ask.tools)
    assert said.reason == ("tool_calls" if ask.tools else "stop")
    if ask.schema is not None:
        city = City.model_validate_json(said.text)
        assert answer.parsed == (None if way == "streamed" else city)


async def ask_in_all_ways(asking: Asking, ask: Ask) -> None:
    """Whole, streamed and through the helper: all say the same."""
    answers = [await asking(way, ask) for way in WAYS]
    for way, answer in zip(WAYS, answers, strict=True):
        check(answer, ask, way)
    assert answers[0].said == answers[1].said == answers[2].said


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_all_ways_to_ask_say_the_same(dialect: str, mode: str, name: str):
    """Text, thoughts, calls, calls of two tools and parsed output, through the application."""
    async with (
        open_app() as (app, _engine),
        answering(DIALECTS[dialect], mode, TOKEN, partial(answer_from, app)) as asking,
    ):
        await ask_in_all_ways(asking, replace(ASKS[name], model=ALIAS))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", ["messages", "responses"])
async def test_an_answer_that_was_cut_says_so(dialect: str, mode: str):
    """In every way, with what there is of it."""
    async with (
        open_app() as (app, _engine),
        answering(DIALECTS[dialect], mode, TOKEN, partial(answer_from, app)) as asking,
    ):
        answers = [await asking(way, Ask(model=ALIAS, limit=5)) for way in WAYS]
    assert {one.said.reason for one in answers} == {"length"}
    assert {len(one.said.text.split()) for one in answers} == {5}


@pytest.mark.parametrize("mode", MODES)
async def test_a_chat_answer_that_was_cut_says_so(mode: str):
    """Whose helper raises an error of its own, with what there is of it."""
    async with (
        open_app() as (app, _engine),
        answering(DIALECTS["chat"], mode, TOKEN, partial(answer_from, app)) as asking,
    ):
        ask = Ask(model=ALIAS, limit=5)
        answers = [await asking(way, ask) for way in ("whole", "streamed")]
        with pytest.raises(DIALECTS["chat"].errors.LengthFinishReasonError) as caught:
            await asking("helped", ask)
    assert {one.said.reason for one in answers} == {"length"}
    said = caught.value.completion.choices[0].message.content
    assert {said} == {one.said.text for one in answers}


@pytest.mark.wire
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_all_ways_to_ask_over_sockets(dialect: str, mode: str, tmp_path):
    """A router process over the demo engine: all of the above, and the errors of both ends."""
    speaker = DIALECTS[dialect]
    async with (
        open_engines("direct") as urls,
        open_router(tmp_path, urls) as router,
    ):
        async with reaching(speaker, mode, router.base_url, WIRE_TOKEN) as asking:
            for ask in ASKS.values():
                await ask_in_all_ways(asking, ask)
            for way in WAYS:
                with pytest.raises(speaker.errors.NotFoundError):
                    await asking(way, Ask(model="nobody"))
                with pytest.raises(speaker.errors.BadRequestError, match=r"context|too long"):
                    await asking(way, Ask(text="word " * 9000))
        async with reaching(speaker, mode, router.base_url, "wrong") as asking:
            for way in WAYS:
                with pytest.raises(speaker.errors.AuthenticationError):
                    await asking(way, Ask())
