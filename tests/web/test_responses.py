"""`/v1/responses` as an application sees it: replies, errors, counts and the refused WebSocket."""

import json
from typing import Any

import pytest

from anvil_trio.names import is_identifier
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN, Answer, request
from tests.support.chunks import ROLE, good_reply, good_stream, stream, text
from tests.support.fake_upstream import Fault
from tests.support.grammars import check_responses
from tests.support.small_house import ALIAS, SmallHouse, config_of, direct_tier, open_small_house

RESPONSES = "/v1/responses"
COUNT = "/v1/responses/input_tokens"
UPGRADE = [BEARER, (b"upgrade", b"WebSocket")]


def app_of(small: SmallHouse) -> App:
    """The application over a small house."""
    return App(small.house, lambda: small.generation, Authenticator(TOKEN))


def body(**fields: object) -> bytes:
    """A request body."""
    return json.dumps({"model": ALIAS, "input": "hi", **fields}).encode()


async def post(small: SmallHouse, path: str = RESPONSES, **fields: object) -> Answer:
    """One request."""
    return await request(app_of(small), "POST", path, parts=[body(**fields)])


@pytest.fixture
async def small():
    """A house of one ready engine."""
    async with open_small_house(config_of(direct_tier())) as small:
        yield small


async def test_a_whole_response(small, autojump_clock):
    """A response object with the caller's model, and a record like any other."""
    small.engine().chat = [good_reply("Hello")]
    answer = await post(small, store=True)
    assert (answer.status, answer.headers[b"content-type"]) == (200, b"application/json")
    assert answer.json["output"][0]["content"][0]["text"] == "Hello"
    assert (answer.json["object"], answer.json["model"]) == ("response", ALIAS)
    (record,) = small.records
    assert record.dropped_fields == ("store",)
    assert all(map(is_identifier, record.dropped_fields))
    await small.assert_at_rest()


async def test_a_whole_stream(small, autojump_clock):
    """Every event, and no `[DONE]`, which this API does not know."""
    small.engine().chat = [good_stream("Hel", "lo")]
    answer = await post(small, stream=True)
    assert answer.headers[b"content-type"].startswith(b"text/event-stream")
    out = check_responses(answer.body)
    assert out.output[0]["content"][0]["text"] == "Hello"
    assert out.response["status"] == "completed"
    await small.assert_at_rest()


async def test_a_stream_that_breaks_ends_in_its_own_words(small, autojump_clock):
    """The events go on counting where they were."""
    small.engine().chat = [stream(ROLE, text("Hel"), Fault.RESET)]
    answer = await post(small, stream=True)
    out = check_responses(answer.body)
    assert out.response["status"] == "failed"
    assert out.response["error"]["code"] == "server_error"
    await small.assert_at_rest()


async def test_errors_have_openais_shape(small, autojump_clock):
    """With the names of this API's fields."""
    answer = await post(small, previous_response_id="resp_1")
    assert (answer.status, answer.json["error"]["param"]) == (400, "previous_response_id")
    answer = await post(small, input="word " * 200_000)
    assert (answer.status, answer.code) == (400, "context_length_exceeded")
    assert answer.json["error"]["param"] == "input"
    answer = await post(small, model="nobody")
    assert (answer.status, answer.code) == (404, "model_not_found")


async def test_a_count_is_an_estimate_and_says_so(small, autojump_clock):
    """It takes no place and leaves no record."""
    answer = await post(small, COUNT, input="one two three", instructions="four five")
    assert answer.json == {"object": "response.input_tokens", "input_tokens": 5}
    assert answer.headers[b"x-anvil-token-count"] == b"estimate"
    assert small.records == []


async def test_a_count_of_a_bad_request_is_an_error(small, autojump_clock):
    """The same 400 as for the request itself."""
    answer = await post(small, COUNT, input=1)
    assert (answer.status, answer.json["error"]["param"]) == (400, "input")


@pytest.mark.parametrize("path", [RESPONSES, f"{RESPONSES}/"])
async def test_a_plain_get_names_the_method(path, small, autojump_clock):
    """405, and what would be right."""
    answer = await request(app_of(small), "GET", path)
    assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")


async def test_a_loose_upgrade_is_told_to_post(small, autojump_clock):
    """426 at once, also where the server took the request for a plain GET."""
    answer = await request(app_of(small), "GET", RESPONSES, headers=UPGRADE)
    assert (answer.status, answer.code) == (426, "method_not_allowed")
    assert (answer.headers[b"allow"], answer.headers[b"upgrade"]) == (b"POST", b"HTTP/1.1")
    answer = await request(app_of(small), "GET", "/v1/models/capacity", headers=UPGRADE)
    assert answer.status == 200
    answer = await request(app_of(small), "GET", "/nowhere", headers=UPGRADE)
    assert answer.status == 404


async def handshake(small: SmallHouse, path: str, **scope: Any) -> list[dict[str, Any]]:
    """What the application answers to a WebSocket handshake."""
    sent: list[dict[str, Any]] = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    extensions: dict[str, object] = {"websocket.http.response": {}}
    plain = {"type": "websocket", "path": path, "headers": [BEARER], "extensions": extensions}
    await app_of(small)({**plain, **scope}, receive, send)
    return sent


async def test_a_handshake_is_told_to_post(small, autojump_clock):
    """426 with the reason, in place of a WebSocket."""
    start, end = await handshake(small, RESPONSES)
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 426)
    assert (b"allow", b"POST") in start["headers"]
    assert end["type"] == "websocket.http.response.body"
    assert json.loads(end["body"])["error"]["code"] == "method_not_allowed"


async def test_a_strangers_handshake_learns_no_path(small, autojump_clock):
    """401 wherever it knocks."""
    for path in (RESPONSES, "/v1/realtime"):
        start, _ = await handshake(small, path, headers=[])
        assert start["status"] == 401
        assert (b"www-authenticate", b"Bearer") in start["headers"]


@pytest.mark.parametrize(
    ("path", "extensions"), [("/v1/nowhere", {"websocket.http.response": {}}), (RESPONSES, {})]
)
async def test_any_other_handshake_is_closed(path, extensions, small, autojump_clock):
    """Where nothing is, or where the server cannot answer in words."""
    assert await handshake(small, path, extensions=extensions) == [{"type": "websocket.close"}]
