"""Callers of all three dialects on a tier whose engine speaks Messages, through the application."""

import json

import pytest

from anvil_trio.config.model import TierDialect
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from anvil_trio.web.chat import said_headers
from tests.support.asgi import BEARER, TOKEN, Side, request
from tests.support.fake_upstream import reply, stream
from tests.support.small_house import config_of, direct_tier, open_small_house
from tests.support.three_dialects import THREE, Spoken
from tests.unit.dialects.anthropic import captured, ended, event, said, started

VERSION = (b"anthropic-version", b"2026-10-21")
BETA = (b"anthropic-beta", b"a-1, b-2")


@pytest.fixture(params=THREE)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    """Each of the three dialects in turn."""
    return THREE[request.param]


@pytest.fixture
async def small():
    """A house of one tier of that kind."""
    async with open_small_house(config_of(direct_tier(dialect=TierDialect.ANTHROPIC))) as small:
        yield small


async def ask(small, spoken: Spoken, *, is_stream: bool = False):
    """One request with the headers of Anthropic's clients."""
    app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
    body = [spoken.body(stream=is_stream)]
    headers = [BEARER, VERSION, BETA]
    return await request(app, "POST", spoken.path, headers=headers, parts=body, side=Side())


async def test_a_unary_reply(spoken, small, autojump_clock):
    """In the caller's shape, with the engine's counts in the record."""
    small.engine().chat = [reply(captured("sglang-length.json"))]
    answer = await ask(small, spoken)
    assert answer.status == 200
    assert spoken.whole_text(answer.body).startswith("Hello from")
    assert json.loads(answer.body)["model"] == "llm.primary"
    assert small.records[0].workload_outcome == "success"


async def test_a_stream(spoken, small, autojump_clock):
    """To its own good end."""
    whole = started(input_tokens=3) + said("Hello") + ended(output_tokens=2)
    small.engine().chat = [stream(whole)]
    answer = await ask(small, spoken, is_stream=True)
    assert spoken.text(answer.body) == "Hello"
    assert spoken.good_end in answer.body


async def test_a_broken_stream(spoken, small, autojump_clock):
    """Ends in the dialect's own error, and never well."""
    error = event("error", error={"type": "overloaded_error", "message": "at node-7"})
    small.engine().chat = [stream(started() + said("Hello"), error)]
    answer = await ask(small, spoken, is_stream=True)
    assert spoken.last_error(answer.body)
    assert spoken.good_end not in answer.body
    assert b"node-7" not in answer.body


@pytest.mark.parametrize(
    "noise",
    [b"data: {oops\n\n", event("error", error={"type": "overloaded_error", "message": "x"})],
    ids=["malformed", "an error"],
)
async def test_a_fault_after_the_stop_reason_costs_nothing(noise, spoken, small, autojump_clock):
    """Decision 8: the answer is whole, and it ends well in every dialect."""
    told = event(
        "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={}
    )
    small.engine().chat = [stream(started() + said("Hello") + told, noise)]
    answer = await ask(small, spoken, is_stream=True)
    assert spoken.text(answer.body) == "Hello"
    assert answer.body.count(spoken.good_end) == 1
    assert b'"error":{' not in answer.body
    assert small.records[0].workload_outcome == "success"


async def test_what_travels(spoken, small, autojump_clock):
    """The tier's own key; version and betas of a caller who speaks Messages, and of no other."""
    small.engine().chat = [reply(captured("sglang-length.json"))]
    await ask(small, spoken)
    [call] = small.engine().chats
    sent = call.request.headers
    assert sent["x-api-key"] == "upstream-key"
    assert "authorization" not in sent
    is_messages = spoken.name == "messages"
    assert sent["anthropic-version"] == ("2026-10-21" if is_messages else "2023-06-01")
    assert sent.get("anthropic-beta") == ("a-1, b-2" if is_messages else None)


@pytest.mark.parametrize("value", [b"", b"a b", b"x" * 9 + b"\x7f", b"a,,b"])
def test_odd_header_values_do_not_travel(value):
    """Only lists of plain words do."""
    assert said_headers([(b"anthropic-beta", value), VERSION]) == (VERSION,)
