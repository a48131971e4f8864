"""OpenAI's own SDK reads all that `/v1/responses` sends, from a real router and in every kind."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2
import openai
import pytest
import trio
from openai.types.responses import Response
from pydantic import BaseModel

from anvil_trio.errors import Code, problem
from tests.support.running_router import TOKEN, open_engines, open_router
from tests.unit.dialects.chats import captured, delta, tier
from tests.unit.dialects.responses import dialect, new_stream, parsed

TEXT = "Hello from a tiny model: café, 你好 🦙."
ASK: dict[str, Any] = {"model": "chat", "input": "hi", "max_output_tokens": 8}
URL = "http://router.test/v1"
STREAMS = [
    "llamacpp-text",
    "llamacpp-think",
    "llamacpp-tools",
    "sglang-text",
    "sglang-tools",
    "vllm-text",
    "vllm-think",
    "vllm-tools",
]


class City(BaseModel):
    """What a model is asked for."""

    city: str


def replaying(reply: Callable[[bytes], tuple[int, bytes]]) -> openai.OpenAI:
    """A client whose requests are answered here; `reply` makes a status and a body of a body."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        status, body = reply(request.read())
        is_stream = body.startswith(b"event: ")
        kind = "text/event-stream" if is_stream else "application/json"
        return httpx2.Response(status, headers={"content-type": kind}, content=body)

    client = httpx2.Client(transport=httpx2.MockTransport(handle))
    return openai.OpenAI(base_url=URL, api_key="k", http_client=client, max_retries=0)


def answered(engine: bytes) -> Callable[[bytes], tuple[int, bytes]]:
    """What the dialect makes of an engine's stream, or of its whole reply, for each request."""

    def reply(body: bytes) -> tuple[int, bytes]:
        request = parsed(body)
        if not request.stream:
            return 200, dialect().render_reply(engine, request, tier()).body
        stream = dialect().translator(request, tier(), 65_536)
        out = stream.feed(engine) + stream.close()
        if stream.failure is not None:
            out += stream.terminal_error(stream.failure)
        return 200, out

    return reply


def strictly(response: Response) -> Response:
    """The same response, checked against the types that the SDK only assumes."""
    whole = {**response.to_dict(mode="json"), "model": "any"}
    return Response.model_validate(whole)


@pytest.mark.parametrize("name", STREAMS)
def test_the_stream_helper_takes_every_engines_stream(name: str):
    """Event by event, to the final response."""
    client = replaying(answered(captured(f"{name}.sse")))
    with client.responses.stream(model="m", input="hi") as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    assert final.status == "completed"
    if name.endswith("text"):
        assert final.output_text == TEXT
    elif name.endswith("tools"):
        (call,) = [item for item in final.output if item.type == "function_call"]
        assert json.loads(call.arguments) == {"city": "Paris"}
    else:
        assert [item.type for item in final.output] == ["reasoning", "message"]
    assert final.usage is not None
    assert final.usage.total_tokens == final.usage.input_tokens + final.usage.output_tokens


@pytest.mark.parametrize("name", ["llamacpp-tools", "sglang-tools", "vllm-think"])
def test_a_whole_reply_has_the_types_of_the_sdk(name: str):
    """Checked in full, not only read."""
    response = replaying(answered(captured(f"{name}.json"))).responses.create(
        model="m", input="hi", reasoning={"summary": "auto"}, metadata={"a": "b"}
    )
    assert strictly(response).metadata == {"a": "b"}


def test_a_schema_is_asked_for_and_its_answer_parsed():
    """The helper for structured output, both ways."""
    asked: list[dict[str, Any]] = []
    engine = delta({"content": '{"city": "Oslo"}'}) + delta(finish="stop")

    def reply(body: bytes) -> tuple[int, bytes]:
        asked.append(json.loads(body))
        return answered(engine)(body)

    with replaying(reply).responses.stream(model="m", input="hi", text_format=City) as stream:
        final = stream.get_final_response()
    assert final.output_parsed == City(city="Oslo")
    rendered: Any = dialect().render_request(parsed(json.dumps(asked[0]).encode()), tier())
    response_format = json.loads(rendered.body)["response_format"]
    assert response_format["json_schema"]["name"] == "City"
    assert response_format["json_schema"]["strict"] is True


def test_calls_by_turns_are_whole_calls():
    """Two calls whose pieces an engine sends by turns."""
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":'}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"y"'}},
        {"index": 0, "function": {"arguments": "1}"}},
        {"index": 1, "function": {"arguments": ":2}"}},
    ]
    engine = b"".join(delta({"tool_calls": [piece]}) for piece in pieces)
    client = replaying(answered(engine + delta(finish="tool_calls")))
    with client.responses.stream(model="m", input="hi") as stream:
        final = stream.get_final_response()
    calls = [item for item in final.output if item.type == "function_call"]
    assert [(one.name, one.arguments) for one in calls] == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_a_cut_reply_is_incomplete():
    """With its reason."""
    engine = delta({"reasoning": "hm"}) + delta(finish="length")
    client = replaying(answered(engine))
    events = list(client.responses.create(model="m", input="hi", stream=True))
    last = events[-1]
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == "max_output_tokens"
    assert strictly(last.response).status == "incomplete"


def test_a_broken_stream_is_a_failed_response():
    """And no exception out of the midst of the SDK."""
    client = replaying(answered(delta({"content": "a"})))
    last = list(client.responses.create(model="m", input="hi", stream=True))[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.code == "server_error"
    assert strictly(last.response).status == "failed"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (Code.INVALID_REQUEST, openai.BadRequestError),
        (Code.AUTHENTICATION, openai.AuthenticationError),
        (Code.MODEL_NOT_FOUND, openai.NotFoundError),
        (Code.UPSTREAM_RATE_LIMITED, openai.RateLimitError),
        (Code.UPSTREAM_ERROR, openai.InternalServerError),
        (Code.SERVER_BUSY, openai.InternalServerError),
    ],
)
def test_an_error_is_the_sdks_own_class(code: Code, kind: type[openai.APIStatusError]):
    """With our code in it."""
    what = problem(code)
    client = replaying(lambda _: (what.status, dialect().render_problem(what)))
    with pytest.raises(kind) as caught:
        client.responses.create(model="m", input="hi")
    assert caught.value.code == code.value


def test_what_was_answered_can_be_sent_back():
    """A conversation goes on with the items of the last response, as the SDK hands them out."""
    client = replaying(answered(captured("vllm-think.json")))
    first = client.responses.create(model="m", input="hi")
    history = [{"role": "user", "content": "hi"}, *(item.to_dict() for item in first.output)]
    request = parsed(json.dumps({"model": "m", "input": history}).encode())
    rendered: Any = dialect().render_request(
        request, tier({"reasoning_history": "reasoning_content"})
    )
    user, assistant = json.loads(rendered.body)["messages"]
    assert user == {"role": "user", "content": "hi"}
    assert assistant["content"].strip() == "Forty-two."
    assert assistant["reasoning_content"].strip() == "Let me ponder briefly."


def test_a_failure_before_the_first_event_is_read():
    """The stream that begins in order to fail."""
    out = new_stream().terminal_error(problem(Code.STARTUP_TIMEOUT))
    events = list(
        replaying(lambda _: (200, out)).responses.create(model="m", input="hi", stream=True)
    )
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.failed",
    ]


@asynccontextmanager
async def router_url(folder) -> AsyncIterator[str]:
    """The address of a real router over a demo engine."""
    async with open_engines("direct") as urls, open_router(folder, urls) as router:
        yield f"{router.base_url}/v1"


@pytest.mark.wire
async def test_the_sync_client_against_a_real_router(tmp_path):
    """Whole, streamed, through the helper, and a count."""

    def use(url: str) -> None:
        with openai.OpenAI(base_url=url, api_key=TOKEN, max_retries=0) as client:
            whole = client.responses.create(**ASK)
            assert strictly(whole).status == "incomplete"  # after eight words
            assert len(whole.output_text.split()) == 8
            assert whole.model == "chat"
            events = list(client.responses.create(**ASK, stream=True))
            said = "".join(one.delta for one in events if one.type == "response.output_text.delta")
            assert said == whole.output_text
            with client.responses.stream(model="chat", input="hi") as stream:
                final = stream.get_final_response()
            assert final.status == "completed"
            assert final.output_text.startswith(whole.output_text)
            counted = client.responses.input_tokens.count(model="chat", input="one two three")
            assert (counted.object, counted.input_tokens) == ("response.input_tokens", 3)
            with pytest.raises(openai.BadRequestError) as caught:
                client.responses.create(**ASK, previous_response_id="resp_1")
            assert caught.value.param == "previous_response_id"

    async with router_url(tmp_path) as url:
        await trio.to_thread.run_sync(partial(use, url))


@pytest.mark.wire
async def test_the_async_client_against_a_real_router(tmp_path):
    """The same on trio."""
    async with (
        router_url(tmp_path) as url,
        openai.AsyncOpenAI(base_url=url, api_key=TOKEN, max_retries=0) as client,
    ):
        whole = await client.responses.create(**ASK)
        assert len(whole.output_text.split()) == 8
        said = ""
        async for event in await client.responses.create(**ASK, stream=True):
            said += event.delta if event.type == "response.output_text.delta" else ""
        assert said == whole.output_text
        async with client.responses.stream(model="chat", input="hi") as stream:
            final = await stream.get_final_response()
        assert final.status == "completed"
        with pytest.raises(openai.NotFoundError):
            await client.responses.create(model="nobody", input="hi")
