"""The page about the Messages dialect says what the code does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.messages_errors import error_type
from anvil_trio.dialects.messages_fields import REFUSED_FIELDS, SAID_FIELDS, TRANSLATED_FIELDS
from anvil_trio.dialects.messages_history import ERROR_MARK
from anvil_trio.errors import Code, problem
from tests.support.grammars import events_of
from tests.unit.dialects.anthropic import captured as anthropic_captured
from tests.unit.dialects.anthropic import engine_tier
from tests.unit.dialects.chats import captured
from tests.unit.dialects.messages import asked, body, new_translator, replied

PAGE = (Path(__file__).parents[3] / "docs" / "dialects" / "messages.md").read_text("utf-8")


def under(heading: str) -> str:
    """What stands under a heading, up to the next."""
    return PAGE.partition(f"# {heading}\n")[2].partition("\n#")[0]


def table(heading: str) -> dict[str, str]:
    """The first table under a heading: its names, and what the next column says of each."""
    rows = re.findall(r"^\| `([^`]+)` \|([^|]*)\|", under(heading), re.MULTILINE)
    names = [name for name, _ in rows]
    assert len(names) == len(set(names)) > 0
    return {name: words.strip() for name, words in rows}


@pytest.mark.parametrize(("name", "fate"), table("Request fields").items())
def test_every_field_meets_its_fate(name: str, fate: str):
    """Those that are dropped are named in the record, those that are refused in the error."""
    lists = {"kept": SAID_FIELDS, "translated": TRANSLATED_FIELDS, "refused": REFUSED_FIELDS}
    if fate != "dropped":
        assert name in lists[fate]
        return
    assert not any(name in names for names in lists.values())
    fields: dict[str, Any] = {name: {"some": 1}}
    request = asked(**fields)
    assert request.dropped_fields == (name,)
    assert request.untranslatable is None


def test_every_field_that_the_code_knows_stands_on_the_page():
    """None is treated without being described."""
    known = {*SAID_FIELDS, *TRANSLATED_FIELDS, *REFUSED_FIELDS}
    assert known <= table("Request fields").keys()


@pytest.mark.parametrize(("kind", "fate"), table("Content blocks").items())
def test_every_block_type_meets_its_fate(kind: str, fate: str):
    """A refused one is refused for its type, a translated one never."""
    block: dict[str, Any] = {"type": kind, "source": {"type": "url", "url": "https://x.test/a"}}
    if kind == "search_result":
        block["source"] = "S"
    role = "assistant" if kind in {"tool_use", "thinking", "redacted_thinking"} else "user"
    request = asked(messages=[{"role": role, "content": [block]}])
    where = request.untranslatable.param if request.untranslatable is not None else None
    assert (where == "messages[0].content[0].type") == (fate == "refused")
    assert (kind in request.dropped_fields) == (fate == "dropped")


def test_only_own_tools_are_translated():
    """Every type but the one on the page is dropped."""
    assert list(table("Tools")) == ["custom"]
    made = MESSAGES.parse_request(body(tools=[{"type": "custom", "name": "x"}, {"name": "y"}]))
    assert isinstance(made, ChatRequest)
    assert len(json.loads(bytes(made.fields["tools"]))) == 2


def test_every_field_of_a_message_stands_on_the_page():
    """Those that are there, and those that never are."""
    for heading, shown in (("The message", replied({"content": "x"})), ("Usage", usage())):
        listed = table(heading)
        never = {name for name, words in listed.items() if words.startswith("never there")}
        assert listed.keys() - never == shown.keys()


def usage() -> dict[str, Any]:
    """Counts of an engine that reports all that it can."""
    counts = {"prompt_tokens": 9, "completion_tokens": 4, "reasoning_tokens": 2}
    details = {"prompt_tokens_details": {"cached_tokens": 3}}
    made: dict[str, Any] = replied({"content": "x"}, usage={**counts, **details})["usage"]
    return made


def test_every_event_stands_on_the_page():
    """A stream has all of them but the error."""
    sent = {event["type"] for event in events_of(new_translator().feed(captured("vllm-think.sse")))}
    assert table("Events").keys() - sent == {"error"}
    assert sent <= table("Events").keys()


def test_every_block_and_delta_stands_on_the_page():
    """Of streams of Chat engines, and of an engine that speaks Messages itself."""
    out = b"".join(
        new_translator().feed(captured(f"{one}.sse")) for one in ("vllm-think", "vllm-tools")
    )
    own = MESSAGES.translator(asked(stream=True), engine_tier(), 65_536)
    out += own.feed(anthropic_captured("vllm-qwen3-think-stream.sse"))
    events = events_of(out)
    blocks = {one["content_block"]["type"] for one in events if "content_block" in one}
    deltas = {one["delta"].get("type") for one in events if "index" in one and "delta" in one}
    for heading, seen in (("Reply blocks", blocks), ("Deltas", deltas)):
        listed = table(heading)
        never = {name for name, words in listed.items() if words.startswith("never there")}
        assert listed.keys() - never == seen


def test_every_error_type_stands_on_the_page():
    """No other word is ever used."""
    assert {error_type(problem(code)) for code in Code} == table("Errors").keys()


def test_fixed_words_stand_on_the_page():
    """Those by which a failed tool and its images are told."""
    assert f"`{ERROR_MARK}`" in PAGE
    assert "`(its images follow)`" in PAGE
    assert "`Image of the tool result ID:`" in PAGE
