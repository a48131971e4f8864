"""Input items as the messages of a chat."""

from typing import Any

import pytest

from anvil_trio.errors import Code
from tests.unit.dialects.chats import tier
from tests.unit.dialects.responses import messages, parsed, refusal, sent

USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "sunny"}
THOUGHT = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]}
KEEP = tier({"reasoning_history": "reasoning_content"})
CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
CHAT_OUTPUT = {"role": "tool", "tool_call_id": "c", "content": "sunny"}


def said(text: str, **more: object) -> dict[str, object]:
    """A message of the assistant as the API hands it out."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "content": [part], **more}


def one(part: object) -> Any:
    """The content that one part of a user's message becomes."""
    return messages({"role": "user", "content": [part]})[0]["content"]


@pytest.mark.parametrize("more", [{}, {"type": "message"}, {"id": "msg_1", "status": "completed"}])
@pytest.mark.parametrize("role", ["system", "user"])
def test_a_message_keeps_role_and_text(role: str, more: dict[str, object]):
    """With or without a type; ids and states are not read."""
    content = [{"type": "input_text", "text": "hi"}]
    assert messages({"role": role, "content": content, **more}) == [{"role": role, "content": "hi"}]


def test_developer_messages_are_the_tiers_to_place():
    """By its compat table, as for Chat; everyone's position is kept."""
    items = [USER, {"role": "developer", "content": "d"}]
    assert [item["role"] for item in messages(*items)] == ["user", "system"]
    kept = messages(*items, to=tier({"developer_role": "developer"}))
    assert [item["role"] for item in kept] == ["user", "developer"]


@pytest.mark.parametrize("kind", ["input_text", "output_text", "text"])
def test_text_parts_are_text(kind: str):
    """Under each of their names; a single one is a plain string."""
    assert one({"type": kind, "text": "a"}) == "a"


def test_several_parts_stay_parts():
    """Their borders are the caller's."""
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    assert messages({"role": "user", "content": parts})[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


def test_a_string_among_parts_is_a_text():
    """Engines take it so, and so do we."""
    assert one("a") == "a"


@pytest.mark.parametrize("content", [None, "", []])
def test_empty_content_is_an_empty_text(content: object):
    """Nothing was said."""
    assert messages(USER, {"role": "user", "content": content})[1]["content"] == ""


def test_a_refusal_is_what_was_said():
    """The words by which the model declined."""
    item = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert messages(USER, item, USER)[1]["content"] == "No."


def test_images_are_translated():
    """By URL or with their data; the detail is kept."""
    url = "data:image/png;base64,AA=="
    assert one({"type": "input_image", "image_url": url, "detail": "low"}) == [
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
    ]
    for sent_url in (url, {"url": url}):
        assert one({"type": "image_url", "image_url": sent_url}) == [
            {"type": "image_url", "image_url": {"url": url}}
        ]


def test_sounds_and_files_are_translated():
    """Where their data is sent along."""
    audio = {"data": "AA==", "format": "wav"}
    assert one({"type": "input_audio", "input_audio": audio}) == [
        {"type": "input_audio", "input_audio": audio}
    ]
    file = {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}
    assert one({"type": "input_file", **file}) == [{"type": "file", "file": file}]
    assert one({"type": "input_file", "file_data": "x"}) == [
        {"type": "file", "file": {"file_data": "x"}}
    ]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_image"},
        {"type": "input_file", "file_id": "file_1"},
        {"type": "input_file", "file_url": "http://example.org/a.pdf"},
        {"type": "input_text"},
        {"type": "refusal"},
        {"type": "input_audio"},
        {"type": "input_image", "image_url": 1},
        {"type": 1},
        {},
        1,
        None,
    ],
)
def test_a_part_that_cannot_be_used_is_refused_by_its_place(part: object):
    """Nothing is stored or fetched here, and nothing is left out in silence."""
    fine = {"type": "input_text", "text": "a"}
    what = refusal(input=[USER, {"role": "user", "content": [fine, part]}])
    assert (what.status, what.code) == (400, Code.INVALID_REQUEST)
    assert what.param == "input[1].content[1]"


def test_an_unknown_kind_of_part_is_refused():
    """It would change what is asked."""
    what = refusal(input=[{"role": "user", "content": [{"type": "hologram"}]}])
    assert what.param == "input[0].content[0].type"


def test_content_that_is_no_content_is_refused():
    """A number, or an object."""
    assert refusal(input=[{"role": "user", "content": 1}]).param == "input[0].content"


def test_a_turn_with_a_tool_becomes_two_messages():
    """The call is the assistant's, the output the tool's."""
    assert messages(USER, CALL, OUTPUT) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [CHAT_CALL]},
        CHAT_OUTPUT,
    ]


def test_what_was_said_thought_and_called_in_one_turn_is_one_message():
    """As Chat has it; what was thought is kept for a tier that reads it."""
    other = {**CALL, "call_id": "d", "id": "fc_2", "status": "completed"}
    made = messages(USER, THOUGHT, said("Look:"), CALL, other, OUTPUT, to=KEEP)
    assert made[1] == {
        "role": "assistant",
        "content": "Look:",
        "reasoning_content": "hm",
        "tool_calls": [CHAT_CALL, {**CHAT_CALL, "id": "d"}],
    }
    assert made[2] == CHAT_OUTPUT


def test_thoughts_are_dropped_where_a_tier_wants_none():
    """That is the default of `reasoning_history`."""
    made = messages(USER, THOUGHT, said("a"), USER)
    assert made[1] == {"role": "assistant", "content": "a"}


def test_a_thought_is_taken_as_it_was_before_its_summary():
    """The text itself if it was sent back, else the summary."""
    content = [{"type": "reasoning_text", "text": "all of it"}]
    made = messages(USER, {**THOUGHT, "content": content}, said("a"), to=KEEP)
    assert made[1]["reasoning_content"] == "all of it"
    parts = [{"type": "summary_text", "text": word} for word in ("a", "b")]
    made = messages(USER, {"type": "reasoning", "summary": parts}, said("a"), to=KEEP)
    assert made[1]["reasoning_content"] == "a\n\nb"


def test_a_thought_that_only_its_maker_can_read_is_dropped_and_named():
    """Codex sends those of other models back."""
    item = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    request = parsed(input=[USER, item, said("a"), USER])
    assert request.dropped_fields == ("encrypted_content",)
    assert [one["role"] for one in messages(USER, item, USER)] == ["user", "user"]


def test_messages_of_the_assistant_stay_apart():
    """Where no call joins them; so do the thoughts before each."""
    made = messages(USER, said("a"), THOUGHT, said("b"), to=KEEP)
    assert made[1:3] == [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning_content": "hm"},
    ]


def test_two_messages_in_a_row_are_two():
    """Nothing says that they are one."""
    made = messages(USER, said("a"), said("b"), USER)
    assert [one["content"] for one in made] == ["hi", "a", "b", "hi"]


def test_what_follows_a_call_stays_with_it():
    """Between a call and its output Chat has room for nothing."""
    made = messages(USER, said("a"), CALL, THOUGHT, said("b"), OUTPUT, to=KEEP)
    assert made[1]["content"] == "a\n\nb"
    assert made[1]["reasoning_content"] == "hm"
    assert made[2] == CHAT_OUTPUT
    assert messages(USER, CALL, said("b"), OUTPUT)[1]["content"] == "b"


def test_parts_that_follow_a_call_stay_parts():
    """Texts and parts join as parts."""
    two = {"role": "assistant", "content": ["b", "c"]}
    made = messages(USER, said("a"), CALL, two, said("d"), OUTPUT)
    assert [part["text"] for part in made[1]["content"]] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("sent_arguments", "arguments"),
    [({"a": 1}, '{"a": 1}'), ("", "{}"), (None, "{}"), ("not json", "not json")],
)
def test_arguments_are_a_string_and_never_edited(sent_arguments: object, arguments: str):
    """An object is its own text, an empty string an empty object."""
    made = messages(USER, {**CALL, "arguments": sent_arguments}, OUTPUT)
    assert made[1]["tool_calls"][0]["function"]["arguments"] == arguments


def test_outputs_may_have_parts():
    """Texts and images, as in messages."""
    image = {"type": "input_image", "image_url": "https://example.org/a.png"}
    parts = [{"type": "input_text", "text": "see"}, image]
    made = messages(USER, CALL, {**OUTPUT, "output": parts})
    assert made[2]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    text = messages(USER, CALL, {**OUTPUT, "output": parts[:1]})
    assert text[2]["content"] == "see"


def test_calls_of_custom_tools_in_the_history_are_calls():
    """Their free text is the one argument, so that a session survives a change of model."""
    call = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** x"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"}
    made = messages(USER, call, output)
    function = made[1]["tool_calls"][0]["function"]
    assert function == {"name": "patch", "arguments": '{"input":"*** x"}'}
    assert made[2]["content"] == "ok"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "item_reference", "id": "msg_1"},
        {"id": "msg_1"},
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "future"},
    ],
)
def test_an_unknown_kind_of_item_is_refused(item: dict[str, object]):
    """It would change what is asked; a reference is to what nobody has kept."""
    what = refusal(input=[USER, item])
    assert (what.status, what.param) == (400, "input[1].type")


@pytest.mark.parametrize(
    "item",
    [
        1,
        None,
        "hi",
        {"type": 1},
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c", "arguments": "{}"},
        {"type": "function_call", "call_id": 1, "name": "f"},
        {"type": "function_call_output", "output": "a"},
        {"type": "function_call_output", "call_id": "c"},
        {"type": "custom_tool_call", "call_id": "c", "name": "f"},
    ],
)
def test_a_broken_item_is_refused_by_its_place(item: object):
    """Its number tells which."""
    what = refusal(input=[USER, item])
    assert (what.status, what.param) == (400, "input[1]")


@pytest.mark.parametrize("role", ["tool", "critic", None])
def test_an_unknown_role_is_refused(role: str | None):
    """Chat's own `tool` role has an item type of its own here."""
    what = refusal(input=[{"type": "message", "role": role, "content": "a"}])
    assert what.param == "input[0].role"


def test_a_plain_string_is_the_users_message():
    """The shortest request there is."""
    assert sent(input="hello")["messages"] == [{"role": "user", "content": "hello"}]
