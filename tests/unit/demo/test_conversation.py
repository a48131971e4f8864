"""What the embedded engine says in a realtime session."""

import json
from typing import Any

import pytest

from anvil_trio.demo.conversation import Conversation, Spoken
from anvil_trio.demo.text import compose


def begun() -> Conversation:
    """A session that has begun."""
    conversation = Conversation("m")
    list(conversation.begin())
    return conversation


def events(spoken: Any) -> list[dict[str, Any]]:
    """What was said, decoded."""
    return [json.loads(each.text) for each in spoken]


def hear(conversation: Conversation, **event: object) -> list[dict[str, Any]]:
    """What is said to one event."""
    return events(conversation.hear(json.dumps(event)))


def test_a_session_begins_with_itself():
    """`session.created` names the model that is served."""
    (created,) = events(Conversation("m").begin())
    assert (created["type"], created["session"]["model"]) == ("session.created", "m")


def test_an_update_is_kept():
    """`session.updated` shows all that was ever set."""
    conversation = begun()
    hear(conversation, type="session.update", session={"instructions": "be brief"})
    (updated,) = hear(conversation, type="session.update", session={"model": "m", "x": 1})
    assert updated["type"] == "session.updated"
    assert updated["session"] | {"instructions": "be brief", "x": 1} == updated["session"]


def test_a_response_is_the_same_text_in_pieces():
    """From `response.created` to `response.done`, each piece a token of a slot."""
    conversation = begun()
    item = {"content": [{"type": "input_text", "text": "a question"}]}
    said = hear(conversation, type="conversation.item.create", item=item)
    assert [each["type"] for each in said] == [
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert said[0]["item"] == item
    spoken: list[Spoken] = list(conversation.hear('{"type":"response.create"}'))
    first, *pieces, text, done = events(spoken)
    assert (first["type"], done["type"]) == ("response.created", "response.done")
    assert "".join(each["delta"] for each in pieces) == text["text"]
    assert text["text"] == "".join(compose("a question"))
    assert done["response"]["status"] == "completed"
    assert done["response"]["usage"]["output_tokens"] == len(pieces)
    assert [each.is_token for each in spoken] == [False, *[True] * len(pieces), False, False]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hello", "invalid_event"),
        ('{"session":{}}', "invalid_event"),
        ('{"type":"conversation.item.create","item":{"content":1}}', "invalid_event"),
        ('{"type":"input_audio_buffer.append"}', "unknown_event"),
        ('{"type":"session.update","session":{"model":"other"}}', "model_not_found"),
        ("[" * 100_000, "invalid_event"),
    ],
)
def test_whatever_else_comes_is_an_error(text, code):
    """An `error` event that says what kind of one it is."""
    (error,) = events(begun().hear(text))
    assert (error["type"], error["error"]["code"]) == ("error", code)
