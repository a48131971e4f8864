"""A Messages caller's own body for Messages engines: as it came, but for the listed changes."""

import json
from typing import Any

import pytest

from anvil_trio.config.model import Tier
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import OutputLimit, RenderedRequest
from tests.unit.dialects import messages
from tests.unit.dialects.anthropic import engine_tier


def own(to: Tier | None = None, **fields) -> tuple[dict[str, Any], RenderedRequest]:
    """A Messages request as it is sent."""
    made = MESSAGES.render_request(messages.asked(**fields), to or engine_tier())
    assert isinstance(made, RenderedRequest), made
    return json.loads(made.body), made


def user(content: Any) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": content}


def text(said: str) -> dict[str, Any]:
    """A text, the same block in both dialects."""
    return {"type": "text", "text": said}


def test_a_messages_body_is_sent_as_it_came():
    """Every member, known or not, but the model."""
    fields: dict[str, Any] = {
        "system": [{**text("S"), "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "max_tokens": 4000,
        "context_management": {"edits": []},
        "thread": {"id": "x"},
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "tool_choice": {"type": "any"},
        "metadata": {"user_id": "u"},
    }
    body, made = own(**fields)
    assert body == {
        **fields,
        "messages": [{"role": "user", "content": "hi"}],
        "model": "served-model",
    }
    assert made.dropped_fields == ()


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("more", [[], [text("S")]])
def test_the_billing_header(keeps, more):
    """Dropped unless the tier wants it."""
    header = text("x-anthropic-billing-header: cch=1")
    body, made = own(engine_tier({"drop_billing_header": not keeps}), system=[header, *more])
    want = [header, *more] if keeps else more
    assert body.get("system", []) == want
    assert made.dropped_fields == (() if keeps else ("system.billing_header",))
    body, _ = own(engine_tier({"drop_billing_header": not keeps}), system=header["text"])
    assert ("system" in body) is keeps


@pytest.mark.parametrize("wanted", ["drop", "reasoning"])
def test_earlier_thoughts_of_messages_callers(wanted):
    """Decision 38: dropped by default, a turn of nothing else with them; else as sent."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    spoken = [
        user("q"),
        {"role": "assistant", "content": [thought]},
        {"role": "assistant", "content": [thought, text("a")]},
        {"role": "assistant", "content": "b"},
        {"role": "assistant", "content": [text("c")]},
    ]
    body, made = own(engine_tier({"reasoning_history": wanted}), messages=spoken)
    if wanted == "drop":
        assert body["messages"] == [
            spoken[0],
            {"role": "assistant", "content": [text("a")]},
            *spoken[3:],
        ]
        assert made.dropped_fields == ("thinking_history",)
    else:
        assert body["messages"] == spoken


@pytest.mark.parametrize(
    ("compat", "roles", "system"),
    [
        ({}, ["user", "system", "system"], "S"),
        ({"developer_role": "developer"}, ["user", "system", "developer"], "S"),
        ({"system_position": "as_user"}, ["user", "user", "user"], "S"),
        ({"system_position": "merge_first"}, ["user"], [text("S"), text("M"), text("D")]),
    ],
)
def test_system_turns_of_messages_callers(compat, roles, system):
    """The compat table on a caller's own body."""
    spoken = [
        user("q"),
        {"role": "system", "content": "M"},
        {"role": "developer", "content": [text("D")]},
    ]
    body, _ = own(engine_tier(compat), messages=spoken, system="S")
    assert [one["role"] for one in body["messages"]] == roles
    assert body["system"] == system
    if compat == {"system_position": "merge_first"}:
        alone, _ = own(engine_tier(compat), messages=spoken)
        assert alone["system"] == system[1:]


def test_idle_members_of_messages_callers():
    """Empty stop strings and tools that are none, with a choice that then forces nothing."""
    body, made = own(stop_sequences=["", "a"], tools=[], tool_choice={"type": "auto"}, top_k=None)
    assert body["stop_sequences"] == ["a"]
    assert body.keys() == {"messages", "model", "max_tokens", "stop_sequences"}
    assert made.dropped_fields == ("tool_choice", "tools")
    body, made = own(stop_sequences=[""])
    assert ("stop_sequences" in body, made.dropped_fields) == (False, ("stop_sequences",))


@pytest.mark.parametrize(
    ("limit", "want", "dropped"),
    [
        (4000, {"type": "enabled", "budget_tokens": 3000}, ()),
        (2000, {"type": "enabled", "budget_tokens": 1999}, ()),
        (1000, None, ("thinking",)),
    ],
)
def test_a_lowered_limit_lowers_the_thinking_budget(limit, want, dropped):
    """Which must be below it and at least 1024."""
    thinking = {"type": "enabled", "budget_tokens": 3000}
    body, made = own(engine_tier(max_output_tokens=limit), max_tokens=5000, thinking=thinking)
    assert (body["max_tokens"], body.get("thinking")) == (limit, want)
    assert made.output_limit == OutputLimit(5000, limit)
    assert made.dropped_fields == dropped
    adaptive, _ = own(
        engine_tier(max_output_tokens=9), max_tokens=50, thinking={"type": "adaptive"}
    )
    assert adaptive["thinking"] == {"type": "adaptive"}
    plain, _ = own(engine_tier(max_output_tokens=9), max_tokens=50)
    assert "thinking" not in plain


def test_stop_sequences_that_say_something_are_kept():
    """They reach the engine as the caller sent them, and nothing is recorded as dropped."""
    body, made = own(stop_sequences=["a", " "])
    assert (body["stop_sequences"], made.dropped_fields) == (["a", " "], ())
