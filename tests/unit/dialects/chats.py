"""Chat requests, tiers and engine streams for the dialect tests, in as few words as possible."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from anvil_trio.config.model import Compat, Tier
from anvil_trio.dialects.chat_stream import ChatStream
from anvil_trio.dialects.ir import ChatRequest, RenderedRequest
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem

__all__ = [
    "DONE",
    "HI",
    "body",
    "captured",
    "choice",
    "contents",
    "datas",
    "delta",
    "event",
    "new_stream",
    "parsed",
    "patient",
    "refusal",
    "rendered",
    "sent",
    "served",
    "tier",
    "translated",
    "unrendered",
]

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For property tests: a slow machine is no failure."""

DONE = "[DONE]"
HI = [{"role": "user", "content": "hi"}]


def captured(name: str) -> bytes:
    """What a real engine sent: the body of its reply without the transfer framing."""
    return (Path(__file__).parents[2] / "data" / "streams" / name).read_bytes()


def body(**fields) -> bytes:
    """A chat request body; a field given as ... is left out."""
    whole = {"model": "llm.primary", "messages": HI, **fields}
    return json.dumps({name: value for name, value in whole.items() if value is not ...}).encode()


def parsed(raw: bytes | None = None, **fields) -> ChatRequest:
    """A request that passes its checks."""
    request = CHAT.parse_request(body(**fields) if raw is None else raw)
    assert isinstance(request, ChatRequest), request
    return request


def refusal(raw: bytes | None = None, **fields) -> Problem:
    """Why a body is refused."""
    what = CHAT.parse_request(body(**fields) if raw is None else raw)
    assert isinstance(what, Problem), what
    return what


def tier(compat: dict[str, Any] | None = None, **fields) -> Tier:
    """A direct tier that serves `served-model`."""
    values = {
        "id": "t",
        "auth_env": "KEY",
        "base_url": "http://127.0.0.1:1",
        "model": "served-model",
    }
    return Tier(**{**values, **fields}, compat=Compat(**(compat or {})))


def rendered(request: ChatRequest, to: Tier) -> RenderedRequest:
    """A request as it goes to the engine."""
    made = CHAT.render_request(request, to)
    assert isinstance(made, RenderedRequest), made
    return made


def unrendered(request: ChatRequest, to: Tier) -> Problem:
    """Why a tier cannot take a request."""
    made = CHAT.render_request(request, to)
    assert isinstance(made, Problem), made
    return made


def sent(to: Tier | None = None, **fields) -> dict[str, Any]:
    """The JSON that the engine gets for a request with these fields."""
    body_sent: dict[str, Any] = json.loads(rendered(parsed(**fields), to or tier()).body)
    return body_sent


def event(data: object) -> bytes:
    """One server-sent event; bytes are taken as its data."""
    text = data if isinstance(data, bytes) else json.dumps(data, separators=(",", ":")).encode()
    return b"data: " + text + b"\n\n"


def choice(
    said: dict[str, Any] | None = None, *, index: int = 0, finish: str | None = None
) -> dict[str, Any]:
    """One choice of a chunk."""
    return {"index": index, "delta": said or {}, "finish_reason": finish}


def delta(
    said: dict[str, Any] | None = None, *, index: int = 0, finish: str | None = None, **members
) -> bytes:
    """One event with one choice."""
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "served-model"}
    return event({**chunk, "choices": [choice(said, index=index, finish=finish)], **members})


def new_stream(
    model: str = "llm.primary",
    *,
    usage_wanted: bool = False,
    max_event_bytes: int = 65_536,
    choices: int = 1,
) -> ChatStream:
    """A translator for one stream."""
    return ChatStream(
        model, usage_wanted=usage_wanted, max_event_bytes=max_event_bytes, choices=choices
    )


def datas(out: bytes) -> list[Any]:
    """The data of every event in `out`, which must hold nothing else; JSON decoded."""
    *events, rest = out.split(b"\n\n")
    assert rest == b""
    assert all(one.startswith(b"data: ") and b"\n" not in one for one in events), events
    texts = [one[6:].decode() for one in events]
    return [text if text == DONE else json.loads(text) for text in texts]


def translated(*events: bytes, **options) -> list[Any]:
    """What the caller gets for these events of the engine, the stream being closed after them."""
    stream = new_stream(**options)
    return datas(stream.feed(b"".join(events)) + stream.close())


def served(stream: ChatStream, *events: bytes) -> list[Any]:
    """The same for a stream that is looked at afterwards; it is not closed."""
    return datas(stream.feed(b"".join(events)))


def contents(out: list[Any], name: str = "content", *, index: int = 0) -> str:
    """All text of one kind and one choice, joined."""
    chunks = [chunk for chunk in out if chunk != DONE]
    said = [one["delta"] for chunk in chunks for one in chunk["choices"] if one["index"] == index]
    return "".join(one.get(name) or "" for one in said)
