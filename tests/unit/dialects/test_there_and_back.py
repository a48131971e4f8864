"""Translating a conversation there and back loses nothing of what the dialects can express."""

import json
from typing import Any

from hypothesis import given

from anvil_trio.config.model import Tier
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, ClientDialect, RenderedRequest
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from tests.unit.dialects.anthropic import engine_tier
from tests.unit.dialects.chats import patient, tier
from tests.unit.dialects.conversations import as_messages, as_responses, chats


def sent(dialect: ClientDialect, body: dict[str, Any], to: Tier) -> dict[str, Any]:
    """What an engine gets for a caller's body; nothing of it is dropped."""
    request = dialect.parse_request(json.dumps(body).encode())
    assert isinstance(request, ChatRequest), request
    made = dialect.render_request(request, to)
    assert isinstance(made, RenderedRequest), made
    assert made.dropped_fields == ()
    whole: dict[str, Any] = json.loads(made.body)
    assert whole.pop("model") == "served-model"
    return whole


def plain(chat: dict[str, Any]) -> dict[str, Any]:
    """A Chat body whose empty texts, default choices and arguments are written one way."""
    chat = json.loads(json.dumps(chat))
    chat.pop("model", None)
    for message in chat["messages"]:
        message["content"] = message.get("content") or ""
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    schema = chat.get("response_format", {}).get("json_schema", {})
    schema.pop("name", None)  # Messages has none
    return chat


def blocks(body: dict[str, Any]) -> dict[str, Any]:
    """A Messages body whose texts are blocks."""
    body = json.loads(json.dumps(body))
    body.pop("model", None)
    if isinstance(body.get("system"), str):
        body["system"] = [{"type": "text", "text": body["system"]}]
    return body


@patient
@given(chats())
def test_chat_to_messages_and_back(chat: dict[str, Any]):
    """What a Messages engine is asked is, asked anew by a Messages caller, the same Chat."""
    there = sent(CHAT, chat, engine_tier())
    assert blocks(there) == blocks(as_messages(chat))
    back = sent(MESSAGES, {"model": "m", **there}, tier())
    assert plain(back) == plain(chat)


@patient
@given(chats())
def test_messages_to_chat_and_back(chat: dict[str, Any]):
    """What a Chat engine is asked is, asked anew by a Chat caller, the same Messages."""
    body = as_messages(chat)
    there = sent(MESSAGES, body, tier())
    assert plain(there) == plain(chat)
    back = sent(CHAT, {"model": "m", **there}, engine_tier())
    assert blocks(back) == blocks(body)


@patient
@given(chats())
def test_responses_to_both_kinds_of_engines(chat: dict[str, Any]):
    """A Chat engine is asked the same Chat; so is one that a Messages engine's request leads to."""
    body = as_responses(chat)
    assert plain(sent(RESPONSES, body, tier())) == plain(chat)
    there = sent(RESPONSES, body, engine_tier())
    assert blocks(there) == blocks(as_messages(chat))
    assert plain(sent(MESSAGES, {"model": "m", **there}, tier())) == plain(chat)


@patient
@given(chats())
def test_the_same_dialect_is_passed_on(chat: dict[str, Any]):
    """Chat to Chat and Messages to Messages keep every member."""
    assert sent(CHAT, chat, tier()) == {k: v for k, v in chat.items() if k != "model"}
    body = as_messages(chat)
    assert sent(MESSAGES, body, engine_tier()) == {k: v for k, v in body.items() if k != "model"}
