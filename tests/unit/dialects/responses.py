"""Responses requests and streams for the dialect tests, in as few words as possible."""

import json
from itertools import count
from typing import Any

from anvil_trio.config.model import Tier
from anvil_trio.dialects.events import StreamEvent
from anvil_trio.dialects.ir import ChatRequest, RenderedReply, RenderedRequest, StreamTranslator
from anvil_trio.dialects.openai_responses import Responses
from anvil_trio.dialects.raw_json import members_of
from anvil_trio.dialects.responses_object import ResponseObject
from anvil_trio.dialects.responses_stream import ResponsesEncoder
from anvil_trio.errors import Problem
from tests.support.grammars import ResponsesStream, check_responses
from tests.unit.dialects.chats import tier

__all__ = [
    "NOW",
    "body",
    "checked",
    "dialect",
    "encoded",
    "encoder",
    "messages",
    "new_stream",
    "parsed",
    "refusal",
    "replied",
    "sent",
    "streamed",
]

NOW = 1_700_000_000.5


def dialect() -> Responses:
    """The dialect, with a clock that stands still and ids that count up."""
    numbers = count(1)
    return Responses(now=lambda: NOW, new_token=lambda: f"t{next(numbers)}")


def body(**fields: Any) -> bytes:
    """A request body; a field given as ... is left out."""
    whole = {"model": "llm.primary", "input": "hi", **fields}
    return json.dumps({name: value for name, value in whole.items() if value is not ...}).encode()


def parsed(raw: bytes | None = None, **fields: Any) -> ChatRequest:
    """A request that passes its checks."""
    request = dialect().parse_request(body(**fields) if raw is None else raw)
    assert isinstance(request, ChatRequest), request
    return request


def refusal(raw: bytes | None = None, **fields: Any) -> Problem:
    """Why a body is refused."""
    what = dialect().parse_request(body(**fields) if raw is None else raw)
    assert isinstance(what, Problem), what
    return what


def sent(to: Tier | None = None, **fields: Any) -> dict[str, Any]:
    """The JSON that the engine gets for a request with these fields."""
    rendered = dialect().render_request(parsed(**fields), to or tier())
    assert isinstance(rendered, RenderedRequest), rendered
    made: dict[str, Any] = json.loads(rendered.body)
    return made


def messages(*items: object, to: Tier | None = None, **fields: Any) -> list[dict[str, Any]]:
    """The messages that the engine gets for these input items."""
    made: list[dict[str, Any]] = sent(to, input=list(items), **fields)["messages"]
    return made


def new_stream(*, max_event_bytes: int = 65_536, **fields: Any) -> StreamTranslator:
    """A translator for the reply to a request with these fields."""
    return dialect().translator(parsed(**{"stream": True, **fields}), tier(), max_event_bytes)


def checked(data: bytes) -> ResponsesStream:
    """A stream that keeps the grammar."""
    return check_responses(data)


def streamed(*events: bytes, **fields: Any) -> ResponsesStream:
    """What the caller gets for these events of the engine, the stream being closed after them."""
    stream = new_stream(**fields)
    return checked(stream.feed(b"".join(events)) + stream.close())


def replied(data: bytes, **fields: Any) -> tuple[RenderedReply, dict[str, Any]]:
    """The whole reply, and its body decoded."""
    reply = dialect().render_reply(data, parsed(**fields), tier())
    return reply, json.loads(reply.body)


def encoder(
    *, wants_summary: bool = False, prompt_estimate: int = 3, max_bytes: int = 65_536
) -> ResponsesEncoder:
    """An encoder for one reply to the plainest request."""
    return ResponsesEncoder(
        ResponseObject("resp_t1", int(NOW), "llm.primary", members_of(body())),
        token="t1",
        now=lambda: NOW,
        wants_summary=wants_summary,
        prompt_estimate=prompt_estimate,
        max_bytes=max_bytes,
    )


def encoded(*events: StreamEvent, **options: Any) -> ResponsesStream:
    """The stream that these events make."""
    made = encoder(**options)
    out = [made.start(), *map(made.encode, events), made.finish()]
    return checked(b"".join(out))
