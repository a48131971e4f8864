"""The page about the Chat dialect says what the code does, for both kinds of engines."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.config.model import Tier
from anvil_trio.dialects.ir import RenderedRequest
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem
from tests.unit.dialects import anthropic
from tests.unit.dialects.anthropic import engine_tier
from tests.unit.dialects.chats import parsed, tier

PAGE = (Path(__file__).parents[3] / "docs" / "dialects" / "chat.md").read_text("utf-8")
FATES = {"kept", "translated", "dropped", "refused"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
SAMPLES: dict[str, Any] = {
    "model": "llm.primary",
    "messages": [{"role": "user", "content": "hi"}],
    "max_tokens": 7,
    "max_completion_tokens": 7,
    "stream": True,
    "stream_options": {"include_usage": True},
    "stop": ["x"],
    "temperature": 0.5,
    "top_p": 0.5,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "tools": [TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "response_format": {"type": "json_object"},
    "reasoning_effort": "high",
    "user": "u",
    "n": 2,
    "functions": [{"name": "f"}],
}
MEMBERS: dict[str, Any] = {
    "role": "user",
    "content": "x",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}}],
    "tool_call_id": "a",
    "refusal": "no",
    "name": "Ann",
}
PARTS: dict[str, Any] = {
    "text": {"text": "x"},
    "refusal": {"refusal": "no"},
    "image_url": {"image_url": {"url": "https://x.test/a.png"}},
    "file": {"file": {"file_data": "data:application/pdf;base64,QUJD"}},
    "input_audio": {"input_audio": {"data": "QUJD", "format": "wav"}},
}


def tables(heading: str) -> list[dict[str, tuple[str, ...]]]:
    """The tables under a heading: their names, and the cells that follow each."""
    under = PAGE.partition(f"# {heading}\n")[2].partition("\n#")[0]
    found: list[dict[str, tuple[str, ...]]] = []
    for block in re.findall(r"(?:^\|.*\n)+", under, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.split("\n")]
        named = {row[0].strip("`"): tuple(row[1:]) for row in rows if row[0].startswith("`")}
        assert len(named) == sum(row[0].startswith("`") for row in rows)
        found.append(named)
    return found


def fates(heading: str) -> dict[str, tuple[str, str]]:
    """What becomes of each, for Chat engines and for Messages engines."""
    (first, *_) = tables(heading)
    assert {fate for row in first.values() for fate in row[:2]} <= FATES
    return {name: (row[0], row[1]) for name, row in first.items()}


def shown(heading: str, number: int = 0) -> tuple[set[str], set[str]]:
    """Members that may be there, and those that never are."""
    table = tables(heading)[number]
    never = {name for name, row in table.items() if row[0] == "never there"}
    return table.keys() - never, never


def rendered(to: Tier, **fields: Any) -> RenderedRequest | Problem:
    """What an engine of this tier gets."""
    return CHAT.render_request(parsed(**fields), to)


def asked_with(name: str) -> dict[str, Any]:
    """A request with this field, and what it needs."""
    tools = {"tools": [TOOL]} if name in {"tool_choice", "parallel_tool_calls"} else {}
    return {**tools, name: SAMPLES.get(name, {"some": 1})}


@pytest.mark.parametrize(("name", "fate"), fates("Request fields").items())
def test_every_field_meets_its_fate(name: str, fate: tuple[str, str]):
    """Kept with its value, named in the record, or named in the error."""
    fields = asked_with(name)
    made = rendered(tier(), **fields)
    assert isinstance(made, RenderedRequest)
    assert fate[0] in {"kept", "translated"}
    assert made.dropped_fields == ()
    if fate[0] == "kept":
        assert json.loads(made.body)[name] == fields[name]
    expect(rendered(engine_tier(), **fields), fate[1], name, name)


def expect(made: RenderedRequest | Problem, fate: str, where: str, dropped: str) -> None:
    """A Messages engine's request has the fate that the page says."""
    if fate == "refused":
        assert isinstance(made, Problem)
        assert made.param == where
        return
    assert isinstance(made, RenderedRequest), made
    assert made.dropped_fields == ((dropped,) if fate == "dropped" else ())
    if fate == "kept":
        assert json.loads(made.body)[where] == SAMPLES[where]


@pytest.mark.parametrize(("name", "fate"), fates("Messages").items())
def test_every_member_of_a_message_meets_its_fate(name: str, fate: tuple[str, str]):
    """In the place where it may stand."""
    role = {"name": "user", "role": "user", "content": "user", "tool_call_id": "tool"}.get(
        name, "assistant"
    )
    message = {"role": role, "content": "x", name: MEMBERS.get(name, {"some": 1})}
    made = rendered(tier(), messages=[message])
    assert isinstance(made, RenderedRequest)
    (sent,) = json.loads(made.body)["messages"]
    assert (sent[name] == message[name]) == (fate[0] == "kept")
    where = f"messages[0].{name}"
    expect(rendered(engine_tier(), messages=[message]), fate[1], where, f"messages.{name}")


@pytest.mark.parametrize(("kind", "fate"), fates("Parts").items())
def test_every_part_meets_its_fate(kind: str, fate: tuple[str, str]):
    """Media and texts."""
    message = {"role": "user", "content": [{"type": kind, **PARTS[kind]}]}
    made = rendered(tier(), messages=[message])
    assert isinstance(made, RenderedRequest)
    assert json.loads(made.body)["messages"] == [message]
    assert fate[0] == "kept"
    expect(rendered(engine_tier(), messages=[message]), fate[1], "messages[0].content[0]", kind)


def test_a_pictures_detail_is_named():
    """`auto` asks for nothing."""
    for detail, dropped in (("high", ("image_url.detail",)), ("auto", ())):
        url = {"url": "https://x.test/a.png", "detail": detail}
        part = {"type": "image_url", "image_url": url}
        made = rendered(engine_tier(), messages=[{"role": "user", "content": [part]}])
        assert isinstance(made, RenderedRequest)
        assert made.dropped_fields == dropped


@pytest.mark.parametrize(("kind", "fate"), fates("Tools").items())
def test_every_tool_meets_its_fate(kind: str, fate: tuple[str, str]):
    """Beside one that is a function."""
    tool = TOOL if kind == "function" else {"type": kind, kind: {"name": "x"}}
    made = rendered(tier(), tools=[TOOL, tool])
    assert isinstance(made, RenderedRequest)
    assert json.loads(made.body)["tools"] == [TOOL, tool]
    expect(rendered(engine_tier(), tools=[TOOL, tool]), fate[1], "tools", "tools.hosted")


@pytest.mark.parametrize(("kind", "row"), tables("Tools")[1].items())
def test_every_tool_choice_has_its_word(kind: str, row: tuple[str]):
    """Or is a 400."""
    named = {"function", "custom", "allowed_tools"}
    inner = {"name": "f"} if kind != "allowed_tools" else {"mode": "auto", "tools": []}
    choice: Any = {"type": kind, kind: inner} if kind in named else kind
    made = rendered(engine_tier(), tools=[TOOL], tool_choice=choice)
    if row[0] == "a 400":
        assert isinstance(made, Problem)
        assert made.param == "tool_choice"
    else:
        assert isinstance(made, RenderedRequest)
        assert json.loads(made.body)["tool_choice"]["type"] == row[0].strip("`")


@pytest.mark.parametrize("kind", fates("Formats"))
def test_every_format_is_translated(kind: str):
    """`text` asks for nothing."""
    schema = {"json_schema": {"name": "n", "schema": {"type": "object"}}}
    wanted = {"type": kind, **(schema if kind == "json_schema" else {})}
    made = rendered(engine_tier(), response_format=wanted)
    assert isinstance(made, RenderedRequest)
    assert made.dropped_fields == ()
    assert ("output_config" in json.loads(made.body)) == (kind != "text")
    assert fates("Formats")[kind] == ("kept", "translated")


def reply() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A Messages engine's answer of every kind, whole and as chunks."""
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ]
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": 1,
        "output_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 2},
    }
    body = {"content": blocks, "stop_reason": "tool_use", "usage": usage}
    request = parsed(stream=True, stream_options={"include_usage": True})
    whole = json.loads(CHAT.render_reply(json.dumps(body).encode(), request, engine_tier()).body)
    stream = CHAT.translator(request, engine_tier(), 65_536)
    said = [
        anthropic.begun(0, "thinking", thinking="hm", signature=""),
        anthropic.stopped(0),
        anthropic.said("x", 1),
        anthropic.begun(2, "tool_use", id="a", name="f", input={}),
        anthropic.more(2, "input_json", "{}"),
        anthropic.stopped(2),
    ]
    out = stream.feed(anthropic.started(**usage) + b"".join(said) + anthropic.ended("tool_use"))
    lines = (out + stream.close()).decode().splitlines()
    return whole, [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_every_member_of_a_completion_stands_on_the_page():
    """Of the whole, of a choice, of what is said, of calls and of counts."""
    whole, chunks = reply()
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    (choice,) = whole["choices"]
    said = [choice["message"], *(one["delta"] for one in choices)]
    calls = [call for one in said for call in one.get("tool_calls", ())]
    details = [whole["usage"][f"{kind}_tokens_details"] for kind in ("prompt", "completion")]
    for heading, number, seen in (
        ("The completion", 0, [whole, *chunks]),
        ("A choice", 0, [choice, *choices]),
        ("What is said", 0, said),
        ("A call", 0, calls),
        ("Counts", 0, [whole["usage"]]),
        ("Counts", 1, details),
    ):
        assert shown(heading, number)[0] == {name for one in seen for name in one}
