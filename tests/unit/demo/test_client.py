"""The demo's own client, over a transport in memory."""

import json

import httpx
import pytest

from anvil_trio.demo.client import Answer, RouterClient, RouterGone


def client_of(handler):
    """A client whose router is `handler`."""
    http = httpx.AsyncClient(transport=httpx.MockTransport(handler), base_url="http://router")
    return RouterClient(http, "demo")


def replying(status, body, headers=None):
    """A router that always says the same."""
    return client_of(lambda _request: httpx.Response(status, content=body, headers=headers))


def chunk(**delta):
    """One event of a stream."""
    return f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n"


async def test_a_plain_reply_is_its_text():
    """The answer holds the first choice's text and the router's id."""
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": "hi"}}]})
    answer = await replying(200, body, {"X-Anvil-Request-Id": "req_1"}).ask("hello")
    assert answer == Answer("req_1", "hi")


async def test_the_request_asks_for_the_alias():
    """What is sent is a chat request for the alias, with the prompt as the user's message."""
    seen = []

    def router(request):
        seen.append(json.loads(request.content))
        return httpx.Response(200, json={"choices": []})

    await client_of(router).ask("hello")
    assert seen == [
        {"model": "demo", "messages": [{"role": "user", "content": "hello"}], "stream": False}
    ]


async def test_a_stream_is_heard_piece_by_piece():
    """Each delta is handed on as it comes; blank ones, comments and `[DONE]` are not text."""
    pieces: list[str] = []
    body = chunk(role="assistant", content="") + ":\n\n" + chunk(content="a") + chunk(content=" b")
    answer = await replying(200, body + "data: [DONE]\n\n").ask("hello", pieces.append)
    assert pieces == ["a", " b"]
    assert answer == Answer(None, "a b")


async def test_a_refusal_is_its_code():
    """An error object is an answer whose problem is its code, plain or streamed."""
    router = replying(503, json.dumps({"error": {"code": "service_unavailable"}}))
    assert (await router.ask("hello")).problem == "service_unavailable"
    assert (await router.ask("hello", print)).problem == "service_unavailable"


async def test_a_stream_that_breaks_keeps_its_text_and_says_why():
    """A terminal error frame after some text: both are told."""
    body = chunk(content="a") + 'data: {"error":{"code":"upstream_error"}}\n\n'
    answer = await replying(200, body).ask("hello", lambda _piece: None)
    assert answer == Answer(None, "a", "upstream_error")


async def test_no_usable_reply_is_a_connection_problem():
    """A broken connection and a body that is not JSON raise nothing."""

    def broken(request):
        raise httpx.ReadError("gone", request=request)

    assert await client_of(broken).ask("hello") == Answer(None, problem="connection")
    assert await replying(200, "<html>").ask("hello") == Answer(None, problem="connection")
    assert await client_of(broken).count_ready() == 0


async def test_a_router_that_takes_no_connections_is_gone():
    """A refused connection is not an answer: the router is being stopped."""

    def refusing(request):
        raise httpx.ConnectError("refused", request=request)

    for call in (client_of(refusing).ask("hello"), client_of(refusing).count_ready()):
        with pytest.raises(RouterGone):
            await call


async def test_ready_members_are_counted():
    """Members whose state is ready count, others and unnamed ones do not."""
    members = [{"readiness": {"state": state}} for state in ("ready", "unavailable", "ready")]
    router = replying(200, json.dumps({"data": [{"id": "demo", "members": members}]}))
    assert await router.count_ready() == 2
    assert await replying(200, json.dumps({"data": [{"id": "demo"}]})).count_ready() == 0
