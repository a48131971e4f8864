"""The page about the Responses dialect says what the code does."""

import re
from pathlib import Path

import pytest

from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.responses_fields import FIELDS
from anvil_trio.errors import Problem
from tests.unit.dialects.chats import captured
from tests.unit.dialects.responses import body, dialect, parsed, replied, streamed

PAGE = (Path(__file__).parents[3] / "docs" / "dialects" / "responses.md").read_text("utf-8")


def table(heading: str) -> dict[str, str]:
    """The first table under a heading: its names, and what the next column says of each."""
    under = PAGE.partition(f"# {heading}\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `([^`]+)` \|([^|]*)\|", under, re.MULTILINE)
    names = [name for name, _ in rows]
    assert len(names) == len(set(names)) > 0
    return {name: words.strip() for name, words in rows}


def test_every_field_stands_on_the_page_with_its_fate():
    """In the order of the code's table."""
    assert table("Request fields") == {name: field.fate.value for name, field in FIELDS.items()}


@pytest.mark.parametrize(("kind", "fate"), table("Input items").items())
def test_every_item_type_meets_its_fate(kind: str, fate: str):
    """A refused one is refused for its type, a translated one never."""
    made = dialect().parse_request(body(input=[{"type": kind}]))
    param = made.param if isinstance(made, Problem) else None
    assert (param == "input[0].type") == (fate == "refused")


@pytest.mark.parametrize(("kind", "fate"), table("Content parts").items())
def test_every_part_type_meets_its_fate(kind: str, fate: str):
    """None is refused for its type."""
    made = dialect().parse_request(body(input=[{"role": "user", "content": [{"type": kind}]}]))
    assert fate == "translated"
    assert isinstance(made, Problem)
    assert made.param == "input[0].content[0]"


@pytest.mark.parametrize(("kind", "fate"), table("Tools").items())
def test_every_tool_type_meets_its_fate(kind: str, fate: str):
    """A function is kept, all others are dropped."""
    made = parsed(tools=[{"type": kind, "name": "x"}])
    assert isinstance(made, ChatRequest)
    assert ("tools" in made.fields) == (fate == "translated")


def test_every_field_of_a_response_stands_on_the_page():
    """Those that are there, and those that never are."""
    shown = table("The response")
    never = {name for name, words in shown.items() if words.startswith("never there")}
    assert shown.keys() - never == replied(captured("vllm-think.json"))[1].keys()


def test_every_item_that_is_sent_stands_on_the_page():
    """And every count with its details."""
    names = ("vllm-think", "llamacpp-tools")
    responses = [replied(captured(f"{name}.json"))[1] for name in names]
    items = {item["type"] for response in responses for item in response["output"]}
    listed = table("Output items")
    never = {name for name, words in listed.items() if words.startswith("never there")}
    assert listed.keys() - never == items
    assert table("Usage").keys() == responses[0]["usage"].keys()


def test_every_event_that_is_sent_stands_on_the_page():
    """The captures of the engines show nearly all of them."""
    sent = {
        event["type"]
        for name in ("vllm-think", "vllm-tools")
        for summary in ("auto", None)
        for event in streamed(captured(f"{name}.sse"), reasoning={"summary": summary}).events
    }
    assert table("Events").keys() - sent == {"response.failed", "response.incomplete"}
    assert sent <= table("Events").keys()
