"""Requests of the checks are what each dialect's API documents."""

from typing import Any

import msgspec
import pytest

from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.said import Finish, ToolCall
from anvil_trio.conform.voices import CHAT, MESSAGES, RESPONSES, VOICES, Ask
from anvil_trio.dialects.anthropic_messages import MESSAGES as ROUTER_MESSAGES
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.openai_chat import CHAT as ROUTER_CHAT
from anvil_trio.dialects.openai_responses import RESPONSES as ROUTER_RESPONSES
from tests.support.answers import CHAT_EVENTS, COUNTS, events
from tests.unit.conform.streams import MESSAGES_STREAM, RESPONSES_STREAM

CALLED = ToolCall("call_1", "get_weather", '{"city": "Rome"}')
ASKS = [
    Ask("hi"),
    Ask("hi", is_stream=True, wants_counts=True),
    Ask("hi", offers_tool=True),
    Ask("hi", offers_tool=True, called=CALLED),
    Ask("hi", wants_schema=True, thinks=True, more={"temperature": 0}),
]
ROUTERS = {"chat": ROUTER_CHAT, "messages": ROUTER_MESSAGES, "responses": ROUTER_RESPONSES}


@pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.name)
@pytest.mark.parametrize("ask", ASKS, ids=range(len(ASKS)))
def test_every_request_is_one_that_the_router_takes(voice, ask):
    """The router's own parsers have no objection."""
    parsed = ROUTERS[voice.name].parse_request(msgspec.json.encode(voice.render("m", ask)))
    assert isinstance(parsed, ChatRequest)


def test_counts_are_asked_for_where_a_stream_wants_them():
    """Chat alone has to be asked."""
    assert "stream_options" not in CHAT.render("m", Ask("hi", wants_counts=True))
    assert "stream_options" not in CHAT.render("m", Ask("hi", is_stream=True))
    body = CHAT.render("m", Ask("hi", is_stream=True, wants_counts=True))
    assert body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("voice", "choice"),
    [(CHAT, "required"), (MESSAGES, {"type": "any"}), (RESPONSES, "required")],
    ids=["chat", "messages", "responses"],
)
def test_a_call_is_demanded_and_then_left_to_the_model(voice, choice):
    """The turn after the result has the same tools and no demand."""
    first: Any = voice.render("m", Ask("hi", offers_tool=True))
    assert first["tool_choice"] == choice
    assert len(first["tools"]) == 1
    if voice is not RESPONSES:
        second: Any = voice.render("m", Ask("hi", offers_tool=True, called=CALLED))
        assert "tool_choice" not in second
        assert len(second["messages"]) == 3


def test_thoughts_have_room_of_their_own_in_messages():
    """The limit is above the thinking budget, as the API demands."""
    body: Any = MESSAGES.render("m", Ask("hi", limit=10, thinks=True))
    assert body["max_tokens"] == 10 + body["thinking"]["budget_tokens"]


@pytest.mark.parametrize("is_engine", [True, False])
def test_streams_are_read_in_each_dialect(is_engine):
    """To what they say."""
    for voice, stream in (
        (CHAT, events(*CHAT_EVENTS, COUNTS).body),
        (MESSAGES, MESSAGES_STREAM),
        (RESPONSES, RESPONSES_STREAM),
    ):
        said = voice.read_stream(stream, usage_wanted=True, is_engine=is_engine)
        assert (said.text, said.finish) == ("Hi there.", Finish.STOP)
        assert said.counts is not None


def test_an_engines_message_may_start_blocks_without_what_is_empty():
    """A gateway's may not."""
    loose = MESSAGES_STREAM.replace(b'"type":"text","text":""', b'"type":"text"')
    assert MESSAGES.read_stream(loose, usage_wanted=True, is_engine=True).text == "Hi there."
    with pytest.raises(GrammarError):
        MESSAGES.read_stream(loose, usage_wanted=True, is_engine=False)


@pytest.mark.parametrize(
    ("voice", "body", "is_told"),
    [
        (CHAT, {"error": {"type": "a", "message": "b"}}, True),
        (CHAT, {"error": {"type": "a", "message": ""}}, False),
        (CHAT, {"error": {"type": 1, "message": "b"}}, False),
        (MESSAGES, {"error": {"type": "a", "message": "b"}}, False),
        (MESSAGES, {"type": "error", "error": {"type": "a", "message": "b"}}, True),
        (RESPONSES, {"error": {"type": "a", "message": "b", "code": None}}, True),
    ],
)
def test_refusals_are_told_as_the_dialects_clients_read_them(voice, body, is_told):
    """Type and message are there, and Messages say that they are an error."""
    assert voice.is_refusal(body) is is_told
