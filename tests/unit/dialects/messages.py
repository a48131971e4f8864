"""Messages requests and their reply streams for the dialect tests, in as few words as possible."""

import json
from typing import Any

from anvil_trio.config.model import Tier
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, RenderedRequest, StreamTranslator
from anvil_trio.errors import Problem
from tests.support.grammars import read_messages
from tests.unit.dialects.chats import tier

__all__ = [
    "WEATHER",
    "asked",
    "body",
    "call",
    "chat_messages",
    "image",
    "new_translator",
    "refused",
    "replied",
    "result",
    "sent",
    "streamed",
    "text",
    "unsendable",
    "use",
]

HI = [{"role": "user", "content": "hi"}]
WEATHER = {
    "name": "get_weather",
    "description": "w",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def body(**fields) -> bytes:
    """A Messages body; a field given as ... is left out."""
    whole = {"model": "llm.primary", "max_tokens": 64, "messages": HI, **fields}
    return json.dumps({name: value for name, value in whole.items() if value is not ...}).encode()


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


def image(data: str = "QUJD") -> dict[str, Any]:
    """A picture within the message."""
    source = {"type": "base64", "media_type": "image/jpeg", "data": data}
    return {"type": "image", "source": source}


def use(call_id: str, **given) -> dict[str, Any]:
    """A call of the one tool."""
    return {"type": "tool_use", "id": call_id, "name": "get_weather", "input": given}


def result(call_id: str, content: Any = ..., **more) -> dict[str, Any]:
    """What a tool answered; a content given as ... is left out."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}
    return {name: value for name, value in block.items() if value is not ...}


def asked(raw: bytes | None = None, **fields) -> ChatRequest:
    """A request that passes its checks."""
    request = MESSAGES.parse_request(body(**fields) if raw is None else raw)
    assert isinstance(request, ChatRequest), request
    return request


def refused(raw: bytes | None = None, **fields) -> Problem:
    """Why a body is refused whatever its tier is."""
    what = MESSAGES.parse_request(body(**fields) if raw is None else raw)
    assert isinstance(what, Problem), what
    return what


def sent(to: Tier | None = None, **fields) -> dict[str, Any]:
    """The JSON that a Chat engine gets for a request with these fields."""
    made = MESSAGES.render_request(asked(**fields), to or tier())
    assert isinstance(made, RenderedRequest), made
    whole: dict[str, Any] = json.loads(made.body)
    return whole


def unsendable(**fields) -> Problem:
    """Why a Chat tier cannot take a request that another could."""
    what = MESSAGES.render_request(asked(**fields), tier())
    assert isinstance(what, Problem), what
    return what


def chat_messages(*turns: tuple[str, Any], to: Tier | None = None, **fields) -> list[Any]:
    """The Chat messages that these turns become."""
    messages = [{"role": role, "content": content} for role, content in turns]
    made: list[Any] = sent(to, messages=messages, **fields)["messages"]
    return made


def new_translator(*, max_event_bytes: int = 65_536, **fields) -> StreamTranslator:
    """A translator for the one reply to a request with these fields."""
    return MESSAGES.translator(asked(stream=True, **fields), tier(), max_event_bytes)


def streamed(*events: bytes, **fields) -> dict[str, Any]:
    """The final message of the stream that these events of an engine become."""
    translator = new_translator(**fields)
    out = translator.feed(b"".join(events)) + translator.close()
    assert translator.failure is None, translator.failure
    return read_messages(out)


def replied(message: dict[str, Any], finish: str | None = "stop", **more) -> dict[str, Any]:
    """The reply that an engine's whole reply becomes."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    fields = more.pop("fields", {})
    raw = json.dumps({"model": "m", "choices": [choice], **more}).encode()
    made: dict[str, Any] = json.loads(MESSAGES.render_reply(raw, asked(**fields), tier()).body)
    return made


def call(index: int | None = 0, call_id: str | None = None, **function) -> dict[str, Any]:
    """A delta with one piece of a tool call."""
    piece = {"index": index, "id": call_id, "type": "function", "function": function}
    return {"tool_calls": [{name: value for name, value in piece.items() if value is not None}]}
