"""Anthropic's own SDK reads all that `/v1/messages` sends, from a real router and in every kind."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anthropic
import httpx2
import pytest
import trio
from anthropic.types import Message
from pydantic import BaseModel

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.errors import Code, Overflow, problem
from tests.support.running_router import TOKEN, open_engines, open_router
from tests.unit.dialects.chats import captured, delta, tier
from tests.unit.dialects.messages import asked, call

TEXT = "Hello from a tiny model: café, 你好 🦙."
HI: dict[str, Any] = {"max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}
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


def replaying(reply: Callable[[bytes], tuple[int, bytes]]) -> anthropic.Anthropic:
    """A client whose requests are answered here; `reply` makes a status and a body of a body."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        status, body = reply(request.read())
        is_stream = body.startswith(b"event: ")
        kind = "text/event-stream" if is_stream else "application/json"
        return httpx2.Response(status, headers={"content-type": kind}, content=body)

    client = httpx2.Client(transport=httpx2.MockTransport(handle))
    return anthropic.Anthropic(
        base_url="http://router.test", api_key="k", http_client=client, max_retries=0
    )


def answered(engine: bytes, seen: list[Any] | None = None) -> Callable[[bytes], tuple[int, bytes]]:
    """What the dialect makes of an engine's stream, or of its whole reply, for each request."""

    def reply(body: bytes) -> tuple[int, bytes]:
        request = asked(body)
        if seen is not None:
            rendered: Any = MESSAGES.render_request(request, tier())
            seen.append(json.loads(rendered.body))
        if not request.stream:
            return 200, MESSAGES.render_reply(engine, request, tier()).body
        stream = MESSAGES.translator(request, tier(), 65_536)
        out = stream.feed(engine) + stream.close()
        if stream.failure is not None:
            out += stream.terminal_error(stream.failure)
        return 200, out

    return reply


def strictly(message: Message) -> Message:
    """The same message, checked against the types that the SDK only assumes."""
    return Message.model_validate(message.to_dict(mode="json"))


def final_of(engine: bytes, **fields: Any) -> Message:
    """The final message of the stream helper."""
    with replaying(answered(engine)).messages.stream(model="m", **{**HI, **fields}) as stream:
        for _ in stream:
            pass
        return strictly(stream.get_final_message())


@pytest.mark.parametrize("name", STREAMS)
def test_the_stream_helper_takes_every_engines_stream(name: str):
    """Event by event, to the final message."""
    message = final_of(captured(f"{name}.sse"))
    kinds = [block.type for block in message.content]
    if name.endswith("text"):
        assert (kinds, message.stop_reason) == (["text"], "end_turn")
        assert message.content[0].to_dict()["text"] == TEXT
    elif name.endswith("tools"):
        assert (kinds, message.stop_reason) == (["tool_use"], "tool_use")
        assert message.content[0].to_dict()["input"] == {"city": "Paris"}
    else:
        assert kinds == ["thinking", "text"]
    assert message.usage.output_tokens > 0


@pytest.mark.parametrize("name", ["llamacpp-tools", "sglang-tools", "vllm-think"])
def test_a_whole_reply_has_the_types_of_the_sdk(name: str):
    """Checked in full, not only read."""
    client = replaying(answered(captured(f"{name}.json")))
    assert strictly(client.messages.create(model="m", **HI)).content


def test_calls_by_turns_are_whole_calls():
    """Two calls whose pieces an engine sends by turns."""
    pieces = [
        call(0, "a", name="f", arguments='{"x":'),
        call(1, "b", name="g", arguments='{"y"'),
        call(0, arguments="1}"),
        call(1, arguments=":2}"),
    ]
    message = final_of(b"".join(map(delta, pieces)) + delta(finish="tool_calls"))
    assert [block.to_dict()["input"] for block in message.content] == [{"x": 1}, {"y": 2}]


def test_a_schema_is_asked_for_and_its_answer_parsed():
    """The helper for structured output, both ways."""
    sent: list[Any] = []
    engine = delta({"content": '{"city": "Oslo"}'}) + delta(finish="stop")
    client = replaying(answered(engine, sent))
    with client.messages.stream(model="m", output_format=City, **HI) as stream:
        final = stream.get_final_message()
    assert final.parsed_output == City(city="Oslo")
    schema = sent[0]["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["city"]["type"] == "string"


def test_a_cut_call_is_no_tool_use():
    """The helper takes what there is of it, with the reason."""
    message = final_of(delta(call(0, "a", name="f", arguments='{"ci')) + delta(finish="length"))
    assert message.stop_reason == "max_tokens"


def test_a_broken_stream_is_an_api_error():
    """The SDK raises what the last event says."""
    with pytest.raises(anthropic.APIStatusError) as caught:
        final_of(delta({"content": "a"}))
    assert caught.value.body == json.loads(MESSAGES.render_problem(problem(Code.UPSTREAM_ERROR)))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (Code.INVALID_REQUEST, anthropic.BadRequestError),
        (Code.AUTHENTICATION, anthropic.AuthenticationError),
        (Code.SCOPE_DENIED, anthropic.PermissionDeniedError),
        (Code.MODEL_NOT_FOUND, anthropic.NotFoundError),
        (Code.PAYLOAD_TOO_LARGE, anthropic.APIStatusError),
        (Code.UPSTREAM_RATE_LIMITED, anthropic.RateLimitError),
        (Code.UPSTREAM_ERROR, anthropic.InternalServerError),
        (Code.SERVER_BUSY, anthropic.InternalServerError),
    ],
)
def test_an_error_is_the_sdks_own_class(code: Code, kind: type[anthropic.APIStatusError]):
    """With Anthropic's word in it."""
    what = problem(code)
    client = replaying(lambda _: (what.status, MESSAGES.render_problem(what)))
    with pytest.raises(kind) as caught:
        client.messages.create(model="m", **HI)
    assert caught.value.status_code == what.status


def test_an_overflow_says_by_how_much():
    """In the words by which clients know to compact."""
    what = problem(Code.CONTEXT_LENGTH_EXCEEDED, overflow=Overflow(9, 8))
    client = replaying(lambda _: (what.status, MESSAGES.render_problem(what)))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 9 tokens > 8 maximum"):
        client.messages.create(model="m", **HI)


def test_what_was_answered_can_be_sent_back():
    """A conversation goes on with the blocks of the last message, as the SDK hands them out."""
    first = final_of(captured("vllm-think.sse"))
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [block.to_dict() for block in first.content]},
    ]
    request = asked(json.dumps({"model": "m", "max_tokens": 1, "messages": history}).encode())
    to = tier({"reasoning_history": "reasoning_content"})
    rendered: Any = MESSAGES.render_request(request, to)
    assistant = json.loads(rendered.body)["messages"][1]
    assert assistant["content"].strip() == "Forty-two."
    assert assistant["reasoning_content"].strip() == "Let me ponder briefly."


@asynccontextmanager
async def router_url(folder) -> AsyncIterator[str]:
    """The address of a real router over a demo engine."""
    async with open_engines("direct") as urls, open_router(folder, urls) as router:
        yield router.base_url


ASK: dict[str, Any] = {**HI, "model": "chat", "max_tokens": 8}


@pytest.mark.wire
async def test_the_sync_client_against_a_real_router(tmp_path):
    """Whole, streamed, through the helper, and a count."""

    def use(url: str) -> None:
        with anthropic.Anthropic(base_url=url, api_key=TOKEN, max_retries=0) as client:
            given = client.messages.create(**ASK)
            assert (given._request_id or "").startswith("req_")
            whole = strictly(given)
            assert whole.stop_reason == "max_tokens"  # after eight words
            said = whole.content[0].to_dict()["text"]
            assert isinstance(said, str)
            assert len(said.split()) == 8
            assert whole.model == "chat"
            with client.messages.stream(**ASK) as stream:
                assert "".join(stream.text_stream) == said
                assert strictly(stream.get_final_message()).usage == whole.usage
            assert client.messages.create(**ASK, extra_query={"beta": "true"}).content
            counted = client.messages.count_tokens(model="chat", messages=HI["messages"])
            assert counted.input_tokens > 0
            with pytest.raises(anthropic.NotFoundError):
                client.messages.create(**{**ASK, "model": "nobody"})
        with (
            anthropic.Anthropic(base_url=url, api_key="wrong", max_retries=0) as stranger,
            pytest.raises(anthropic.AuthenticationError),
        ):
            stranger.messages.create(**ASK)

    async with router_url(tmp_path) as url:
        await trio.to_thread.run_sync(partial(use, url))


@pytest.mark.wire
async def test_the_async_client_against_a_real_router(tmp_path):
    """On trio, which the SDK runs on too."""
    async with (
        router_url(tmp_path) as url,
        anthropic.AsyncAnthropic(base_url=url, auth_token=TOKEN, max_retries=0) as client,
    ):
        whole = strictly(await client.messages.create(**ASK))
        async with client.messages.stream(**ASK) as stream:
            assert await stream.get_final_text() == whole.content[0].to_dict()["text"]
