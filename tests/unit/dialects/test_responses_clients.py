"""What real clients send to `POST /v1/responses` is accepted, and nothing that matters is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.dialects.ir import RenderedRequest
from tests.unit.dialects.chats import tier
from tests.unit.dialects.responses import dialect, parsed

FOLDER = Path(__file__).parents[2] / "data" / "clients"
NAMES = sorted(path.stem for path in FOLDER.glob("*-responses-*.json"))
HARMLESS = {"client_metadata", "include", "prompt_cache_key", "store"}
HOSTED = {"tools-namespace", "tools-web_search"}


def captured(name: str) -> bytes:
    """The body of one captured request."""
    return (FOLDER / f"{name}.json").read_bytes()


def rendered(name: str) -> tuple[dict[str, Any], set[str]]:
    """What the engine gets, and what was dropped."""
    made = dialect().render_request(parsed(captured(name)), tier())
    assert isinstance(made, RenderedRequest)
    return json.loads(made.body), set(made.dropped_fields)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_request_is_accepted(name: str):
    """Only what is harmless, or what no engine has, is dropped."""
    sent = json.loads(captured(name))
    made, dropped = rendered(name)
    assert dropped <= HARMLESS | HOSTED
    functions = [one["name"] for one in sent.get("tools", []) if one["type"] == "function"]
    assert [one["function"]["name"] for one in made.get("tools", [])] == functions
    assert made.get("stream") == sent.get("stream")


def test_codex_gives_its_rules_in_developer_messages():
    """They arrive as system messages, in their order, with all their parts."""
    made, dropped = rendered("codex-responses-1")
    assert [one["role"] for one in made["messages"]] == ["system", "system", "user", "user"]
    assert made["messages"][3]["content"] == "run echo please"
    assert [part["type"] for part in made["messages"][1]["content"]] == ["text", "text"]
    assert made["parallel_tool_calls"] is True
    assert made["tool_choice"] == "auto"
    assert dropped == HARMLESS | HOSTED


@pytest.mark.parametrize("name", ["codex-responses-2", "opencode-responses-3", "pi-responses-2"])
def test_the_second_turn_of_an_agent_has_its_tools_answer(name: str):
    """The call and its output, paired by their id."""
    made, _ = rendered(name)
    call, output = made["messages"][-2:]
    assert call["role"] == "assistant"
    assert [one["id"] for one in call["tool_calls"]] == ["call_1"]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"])
    assert (output["role"], output["tool_call_id"]) == ("tool", "call_1")
    assert output["content"]


def test_pi_asks_for_an_effort():
    """Under Chat's name for it."""
    made, _ = rendered("pi-responses-1")
    assert (made["reasoning_effort"], made["max_tokens"]) == ("medium", 1024)
