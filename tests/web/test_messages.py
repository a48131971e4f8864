"""The Messages routes through the application: dialect of errors, and counting tokens."""

import json
from typing import Any

import pytest
import trio

from anvil_trio.names import MemberId, TierId
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import TOKEN, Side, request
from tests.support.chunks import good_reply, good_stream
from tests.support.fake_upstream import REFUSED, Fault, Head, Reply, reply
from tests.support.grammars import read_messages
from tests.support.small_house import SmallHouse, open_small_house

CHAT = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
HI: dict[str, Any] = {"model": "llm.primary", "messages": [{"role": "user", "content": "a b c"}]}


def app_of(small: SmallHouse) -> App:
    """The application over a small house."""
    return App(small.house, lambda: small.generation, Authenticator(TOKEN))


@pytest.fixture
async def small():
    """A house of two ready replicas."""
    async with open_small_house() as small:
        yield small


def body(**fields) -> list[bytes]:
    """One request body."""
    return [json.dumps({**HI, **fields}).encode()]


async def count(small: SmallHouse, *, side: Side | None = None, **fields):
    """One request for a count."""
    return await request(app_of(small), "POST", COUNT, parts=body(**fields), side=side)


async def test_a_message_is_answered(small, autojump_clock):
    """Unary and streamed, with or without the query that asks for betas."""
    small.engine("a").chat = [good_reply("Hi")]
    small.engine("b").chat = [good_stream("Hi")]
    app = app_of(small)
    answer = await request(app, "POST", CHAT, parts=body(max_tokens=9), side=Side())
    assert answer.json["content"] == [{"type": "text", "text": "Hi"}]
    assert answer.headers[b"request-id"] == answer.headers[b"x-request-id"]
    parts = body(max_tokens=9, stream=True)
    answer = await request(app, "POST", CHAT, query=b"beta=true", parts=parts, side=Side())
    assert read_messages(answer.body)["content"][0]["text"] == "Hi"


@pytest.mark.parametrize("path", [CHAT, CHAT + "/", COUNT])
async def test_a_stranger_is_told_in_anthropics_words(path, small, autojump_clock):
    """A 401 comes before anything is read, in the dialect of the path."""
    answer = await request(app_of(small), "POST", path, headers=[], parts=[])
    assert answer.status == 401
    assert answer.json["type"] == "error"
    assert answer.json["error"]["type"] == "authentication_error"
    assert answer.headers[b"www-authenticate"] == b"Bearer"


async def test_a_wrong_method_is_told_in_anthropics_words(small, autojump_clock):
    """The path knows its dialect whatever the method is."""
    answer = await request(app_of(small), "GET", CHAT)
    assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")
    assert answer.json["error"]["type"] == "invalid_request_error"


async def test_an_engine_counts_exactly(small, autojump_clock):
    """It is asked without a lease or a record, and its number is handed on as such."""
    small.engine("a").chat = [reply(b'{"input_tokens":282,"more":1}')]
    answer = await count(small, side=Side(), max_tokens=5, metadata={"user_id": "u"})
    assert (answer.status, answer.json) == (200, {"input_tokens": 282})
    assert answer.headers[b"x-anvil-token-count"] == b"exact"
    call = small.engine("a").calls[0]
    assert call.request.url == "http://primary-a.test/v1/messages/count_tokens"
    assert call.request.headers["authorization"] == "Bearer upstream-key"
    assert json.loads(call.body) == {**HI, "model": "served-model"}
    assert small.records == []
    await small.assert_at_rest()


@pytest.mark.parametrize(
    "script",
    [
        REFUSED,
        reply(b'{"error":"no"}', status=404),
        reply(b'{"input_tokens":3}', status=500),
        reply(b"{}"),
        reply(b'{"input_tokens":-1}'),
        reply(b'{"input_tokens":9223372036854775808}'),
        reply(b'{"input_tokens":3,"deep":' + b"[" * 2_000 + b"]" * 2_000 + b"}"),
        reply(b"oops"),
        reply(b'{"input_tokens":3}' + b" " * 70_000),
        Reply((Head(200), b"{", Fault.RESET)),
        Reply((Fault.STALL,)),
        Reply((Head(200), b"{", Fault.STALL)),
    ],
)
async def test_an_engine_that_cannot_count_leaves_an_estimate(script, small, autojump_clock):
    """Whatever goes wrong there costs two seconds at most, and the answer says what it is."""
    small.engine("a").chat = [script]
    answer = await count(small, side=Side())
    assert (answer.status, answer.json) == (200, {"input_tokens": 3})
    assert answer.headers[b"x-anvil-token-count"] == b"estimate"
    assert trio.current_time() <= 2
    await small.assert_at_rest()


async def test_eight_are_asked_at_a_time(small, autojump_clock):
    """Whoever finds all places taken gets an estimate at once, and costs no engine anything."""
    small.engine("a").chat_default = small.engine("b").chat_default = Reply((Fault.STALL,))
    answers = []

    async def ask():
        answers.append((await count(small, side=Side()), trio.current_time()))

    async with trio.open_nursery() as nursery:
        for _ in range(9):
            nursery.start_soon(ask)
    assert [at for _, at in answers] == [0.0] + [2.0] * 8
    assert {answer.headers[b"x-anvil-token-count"] for answer, _ in answers} == {b"estimate"}
    assert sum(len(engine.calls) for engine in small.engines.values()) == 8


async def test_an_estimate_takes_in_system_and_tools(small, autojump_clock):
    """Both are part of what a model reads."""
    small.engine("a").chat = small.engine("b").chat = [REFUSED] * 2
    tool = {"name": "f", "input_schema": {"type": "object", "description": "d" * 400}}
    answer = await count(small, system="one two", tools=[tool])
    assert answer.json["input_tokens"] > 100


async def test_only_a_ready_member_is_asked(small, autojump_clock):
    """A tier that takes no work is not asked, nor is a member that is not ready."""
    small.ready("b")
    small.engine("b").chat = [reply(b'{"input_tokens":7}')]
    assert (await count(small)).json == {"input_tokens": 7}
    small.ready()
    assert (await count(small)).json == {"input_tokens": 3}
    small.ready("a", "b")
    small.house.tiers[TierId("primary")].set_quiesced(True)
    assert (await count(small)).json == {"input_tokens": 3}
    assert small.engines[TierId("primary"), MemberId("a")].attempts == 0


async def test_a_count_takes_no_place(small, autojump_clock):
    """It is answered by a router and a tier that are full."""
    small.limit_to(1)
    small.engine("a").chat = [Reply((Fault.STALL,)), reply(b'{"input_tokens":5}')]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: small.chat(stream=True))
        await trio.sleep(0.1)
        assert (await count(small)).json == {"input_tokens": 5}
        assert (await small.house.admission.inspect()).active == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("fields", "status", "kind"),
    [
        ({"messages": []}, 400, "invalid_request_error"),
        ({"model": "nobody"}, 404, "not_found_error"),
        ({"model": 1}, 400, "invalid_request_error"),
    ],
)
async def test_a_wrong_question_is_an_error(fields, status, kind, small, autojump_clock):
    """In Anthropic's words, with the status that it would have on the other route."""
    answer = await count(small, **fields)
    assert (answer.status, answer.json["error"]["type"]) == (status, kind)
    assert small.engine("a").attempts == 0


async def test_a_body_that_is_too_large_is_not_counted(small, autojump_clock):
    """The same bound applies, in Anthropic's words."""
    parts = [b"x" * 33_554_433]
    answer = await request(app_of(small), "POST", COUNT, parts=parts, side=Side())
    assert (answer.status, answer.json["error"]["type"]) == (413, "request_too_large")


async def test_a_caller_that_leaves_is_not_waited_for(small, autojump_clock):
    """Its leaving ends the question to the engine in the same instant."""
    small.engine("a").chat = [Reply((Fault.STALL,))]
    side = Side()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: count(small, side=side))
        await trio.sleep(1)
        side.leave()
    assert trio.current_time() == 1
    assert small.engine("a").closed == 1
