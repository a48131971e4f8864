"""What each kind of turn and block of a Messages conversation is for Chat engines."""

from typing import Any

import pytest

from tests.unit.dialects.chats import tier
from tests.unit.dialects.messages import (
    asked,
    chat_messages,
    image,
    result,
    sent,
    text,
    unsendable,
    use,
)

BILLING = text("x-anthropic-billing-header: cc_version=1; cch=abc;")


def test_a_system_prompt_comes_first():
    """A string or blocks of text are one system message; blocks are its paragraphs."""
    assert chat_messages(("user", "hi"), system="S")[0] == {"role": "system", "content": "S"}
    got = chat_messages(("user", "hi"), system=[text("A"), text(""), text("B")])
    assert got[0] == {"role": "system", "content": "A\n\nB"}


@pytest.mark.parametrize("system", ["", [], [text("")]])
def test_an_empty_system_prompt_is_none(system: Any):
    """No engine gets an empty system message."""
    assert [one["role"] for one in chat_messages(("user", "hi"), system=system)] == ["user"]


def test_a_billing_header_is_dropped():
    """The first system block that says who pays defeats prefix caches and goes, by default."""
    assert sent(system=[BILLING, text("REAL")])["messages"][0]["content"] == "REAL"
    assert asked(system=[BILLING]).dropped_fields == ("system.billing_header",)
    assert chat_messages(("user", "hi"), system=[text("REAL"), BILLING])[0]["content"] != "REAL"


def test_a_billing_header_is_kept_where_a_tier_wants_it():
    """`drop_billing_header = false` leaves it in its place."""
    got = sent(tier({"drop_billing_header": False}), system=[BILLING, text("REAL")])
    assert got["messages"][0]["content"] == f"{BILLING['text']}\n\nREAL"


def test_system_messages_keep_their_place():
    """Inline system messages stay where they are, so that one turn's prompt begins the next's."""
    turns: list[tuple[str, Any]] = [("user", "hi"), ("system", "S1"), ("assistant", "yo")]
    first = chat_messages(*turns, ("user", "go"), system="TOP")
    more = [("system", [text("S2"), text("S3")])]
    second = chat_messages(*turns, ("user", "go"), *more, system="TOP")
    assert [one["role"] for one in first] == ["system", "user", "system", "assistant", "user"]
    assert second[: len(first)] == first
    assert second[-1] == {"role": "system", "content": "S2\n\nS3"}


def test_a_user_turn_with_one_text_is_that_text():
    """One text is a string, which every engine takes; more are parts in their order."""
    assert chat_messages(("user", [text("a")]))[0]["content"] == "a"
    assert chat_messages(("user", [text("a"), text("b")]))[0]["content"] == [text("a"), text("b")]
    assert chat_messages(("user", []))[0]["content"] == ""


def test_images_become_image_urls():
    """Pictures within the message and elsewhere are both URLs to Chat."""
    there = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}
    plain = {"type": "image", "source": {"type": "base64", "data": "QUJD"}}
    parts = chat_messages(("user", [image(), there, plain]))[0]["content"]
    assert [part["image_url"]["url"] for part in parts] == [
        "data:image/jpeg;base64,QUJD",
        "https://x.test/a.png",
        "data:image/png;base64,QUJD",
    ]


def test_documents_become_their_text_or_a_file():
    """Plain text and content go in as such, after title and context; a PDF as Chat's file part."""
    plain = {
        "type": "document",
        "title": "T",
        "context": "C",
        "source": {"type": "text", "media_type": "text/plain", "data": "words"},
    }
    blocks = {"type": "document", "source": {"type": "content", "content": [text("in")]}}
    bare = {"type": "document", "source": {"type": "content", "content": "bare"}}
    pdf = {"type": "document", "title": "f.pdf", "source": {"type": "base64", "data": "JVBE"}}
    parts = chat_messages(("user", [plain, blocks, bare, pdf]))[0]["content"]
    assert [part.get("text") for part in parts[:5]] == ["T", "C", "words", "in", "bare"]
    data = "data:application/pdf;base64,JVBE"
    assert parts[-1] == {"type": "file", "file": {"filename": "f.pdf", "file_data": data}}


def test_search_results_become_text():
    """Title, source and what was found, line by line."""
    found = {"type": "search_result", "title": "T", "source": "S", "content": [text("x")]}
    assert chat_messages(("user", [found]))[0]["content"] == "T\nS\nx"


def test_calls_and_results_are_paired():
    """A call's input is its text, and its result a message of its own right after."""
    got = chat_messages(
        ("user", "hi"),
        ("assistant", [text("so"), use("a", city="Rome")]),
        ("user", [result("a", "sun")]),
    )
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    assert got[1] == {
        "role": "assistant",
        "content": "so",
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    assert got[2:] == [{"role": "tool", "tool_call_id": "a", "content": "sun"}]


def test_a_call_without_input_is_an_empty_object():
    """Some clients leave `input` out."""
    bare = {"type": "tool_use", "id": "a", "name": "f"}
    got = chat_messages(("assistant", [bare]), ("user", [result("a")]))
    assert got[0]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert got[0]["content"] == ""
    assert got[1]["content"] == ""


def test_results_come_before_what_the_user_says():
    """In the order in which they were sent, whatever stood between them."""
    got = chat_messages(
        ("assistant", [use("a"), use("b")]),
        ("user", [text("note"), result("b", "B"), text("more"), result("a", "A")]),
    )
    assert [(one["role"], one["content"]) for one in got[1:]] == [
        ("tool", "B"),
        ("tool", "A"),
        ("user", [text("note"), text("more")]),
    ]


def test_nothing_stands_between_a_call_and_its_result():
    """A system message that was sent between them follows the results."""
    got = chat_messages(("assistant", [use("a")]), ("system", "S"), ("user", [result("a", "A")]))
    assert [one["role"] for one in got] == ["assistant", "tool", "system"]
    got = chat_messages(("assistant", "x"), ("system", "S"), ("user", [result("a", "A")]))
    assert [one["role"] for one in got] == ["assistant", "system", "tool"]
    assert [one["role"] for one in chat_messages(("user", [result("a")]))] == ["tool"]


def test_a_failed_tool_says_so():
    """Chat has no flag for it: the text begins with fixed words."""
    got = chat_messages(
        ("assistant", [use("a"), use("b")]),
        ("user", [result("a", "no", is_error=True), result("b", "ok", is_error=False)]),
    )
    assert [one["content"] for one in got[1:]] == ["Error: no", "ok"]


def test_images_of_a_result_follow_it():
    """A result has no place for pictures: they come in the next user message, and are counted."""
    got = chat_messages(
        ("assistant", [use("a")]),
        ("user", [result("a", [text("see"), image(), text("it")]), text("what is it?")]),
    )
    assert got[1]["content"] == "see\nit\n(its images follow)"
    said, shown, question = got[2]["content"]
    assert said == text("Image of the tool result a:")
    assert shown["image_url"]["url"].startswith("data:image/jpeg")
    assert question == text("what is it?")
    only = [("assistant", [use("a")]), ("user", [result("a", [image()])])]
    assert [one["role"] for one in chat_messages(*only)] == ["assistant", "tool", "user"]
    turns = [{"role": role, "content": content} for role, content in only]
    assert asked(messages=turns).media.images == 1


def test_tool_references_of_a_result_are_named():
    """A result that names tools is their names."""
    found = [{"type": "tool_reference", "tool_name": "f"}, {"type": "tool_reference"}]
    got = chat_messages(("assistant", [use("a")]), ("user", [result("a", found)]))
    assert got[1]["content"] == "f\n"


def test_thoughts_are_history_as_the_tier_wants_it():
    """They are dropped by default; else all of them are one text, signed or not."""
    blocks = [
        {"type": "thinking", "thinking": "t", "signature": ""},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "thinking", "thinking": "u"},
        {"type": "thinking", "thinking": ""},
        text("hey"),
    ]
    turns: list[tuple[str, Any]] = [("user", "hi"), ("assistant", blocks), ("user", "go on")]
    assert chat_messages(*turns)[1] == {"role": "assistant", "content": "hey"}
    for name in ("reasoning_content", "reasoning"):
        got = chat_messages(*turns, to=tier({"reasoning_history": name}))
        assert got[1] == {"role": "assistant", "content": "hey", name: "t\n\nu"}
    messages = [{"role": role, "content": content} for role, content in turns]
    assert asked(messages=messages).dropped_fields == ("redacted_thinking",)


def test_a_last_assistant_turn_is_continued():
    """A prefill asks the engine to go on from it; one that ends in a call does not."""
    got = sent(messages=[{"role": "assistant", "content": "1, 2,"}])
    assert got["continue_final_message"] is True
    assert got["add_generation_prompt"] is False
    assert "continue_final_message" not in sent(
        messages=[{"role": "assistant", "content": [use("a")]}]
    )


def test_hints_for_caches_and_citations_are_dropped():
    """Wherever they stand, they are gone and named once."""
    hint = {"cache_control": {"type": "ephemeral"}}
    blocks = [{**text("a"), **hint}, {**text("b"), "citations": [{}]}]
    turns = [
        {"role": "user", "content": blocks},
        {"role": "user", "content": [result("a", "x", **hint)]},
    ]
    got = asked(messages=turns, system=[{**text("s"), **hint}])
    assert got.dropped_fields == ("cache_control", "citations")
    assert b"ephemeral" not in b"".join(bytes(raw) for raw in got.fields.values())


@pytest.mark.parametrize(
    ("block", "where"),
    [
        ({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, ".type"),
        ({"type": "web_search_tool_result", "content": {"type": "error"}}, ".type"),
        ({"type": "container_upload", "file_id": "f"}, ".type"),
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, ".source"),
        ({"type": "image", "source": {"type": "base64"}}, ".source"),
        ({"type": "document", "source": {"type": "url", "url": "https://x.test"}}, ".source"),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_block_that_chat_has_no_word_for_is_refused(block: dict[str, Any], where: str, role: str):
    """A 400 says where the first one stands; nothing of a conversation is lost in silence."""
    what = unsendable(messages=[{"role": role, "content": [text("a"), block, block]}])
    assert (what.status, what.param) == (400, f"messages[0].content[1]{where}")


def test_system_takes_text_only():
    """A picture in a system prompt is refused by its place."""
    assert unsendable(system=[text("a"), image()]).param == "system[1].type"
    inner = {"type": "search_result", "title": "T", "source": {}, "content": [image()]}
    turns = [{"role": "user", "content": [result("a", [inner])]}]
    assert unsendable(messages=turns).param == "messages[0].content[0].content[0][0].type"
