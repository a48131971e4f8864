"""What real clients sent, replayed to the application: accepted, and handed on rightly."""

import json
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.demo.beside import answer_beside
from anvil_trio.demo.tones import Sounded
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.sdks.demo_upstream import DemoUpstream
from tests.support.asgi import TOKEN, Answer, Side, request
from tests.support.fake_upstream import FakeUpstream
from tests.support.grammars import check_responses, read_chat, read_messages
from tests.support.small_house import (
    ALIAS,
    config_of,
    direct_tier,
    embedding_model,
    open_small_house,
)

FOLDER = Path(__file__).parents[1] / "data" / "clients"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
EMBEDDINGS = [name for name in FILES if "-embeddings-" in name]
CHATS = [name for name in FILES if "-chat-" in name]
REDACTED = {"authorization", "x-api-key"}
LENGTHS = {"content-length", "transfer-encoding", "connection"}


def recorded(name: str) -> dict[str, Any]:
    """One request; of some only the body was kept."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    if "method" in found:
        return found
    return {"method": "POST", "path": "/v1/responses", "headers": [], "body": found}


def headers_of(record: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """As sent, with a credential that is known here in the place of the client's."""
    kept, credential = [], "authorization"
    for name, value in record["headers"]:
        if name.lower() in REDACTED:
            credential = name.lower()
        elif name.lower() not in LENGTHS:
            kept.append((name.lower().encode(), value.encode()))
    key = f"Bearer {TOKEN}" if credential == "authorization" else TOKEN
    return [*kept, (credential.encode(), key.encode())]


async def replayed(record: dict[str, Any]) -> tuple[Answer, FakeUpstream, list[Any]]:
    """What the client got, the engine, and the records that were left."""
    path, _, query = record["path"].partition("?")
    body = record["body"]
    parts = [b""] if body is None else [json.dumps({**body, "model": ALIAS}).encode()]
    config = config_of(direct_tier())
    async with open_small_house(config, make_engine=DemoUpstream) as small:
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        answer = await request(
            app,
            record["method"],
            path,
            headers=headers_of(record),
            parts=parts,
            query=query.encode(),
            side=Side(),
        )
        await small.assert_at_rest()
        return answer, small.engine(), small.records


@pytest.mark.parametrize(
    "name",
    [name for name in FILES if recorded(name)["method"] == "POST" and name not in EMBEDDINGS],
)
async def test_a_real_request_is_served(name: str, autojump_clock):
    """A good end in the client's own words, and one request to the engine."""
    record = recorded(name)
    answer, engine, records = await replayed(record)
    assert answer.status == 200, answer.body
    if record["path"].startswith("/v1/messages/count_tokens"):
        assert answer.json["input_tokens"] > 0
        return
    assert len(engine.chats) == 1
    assert [one.workload_outcome for one in records] == ["success"]
    sent = record["body"]
    asked = json.loads(engine.chats[0].body)
    assert asked["model"] == "served-model"
    assert asked.get("stream", False) == sent.get("stream", False)
    own = [one for one in sent.get("tools", ()) if one.get("type") in {None, "custom", "function"}]
    names = [one.get("function", one)["name"] for one in own]
    assert [one["function"]["name"] for one in asked.get("tools", ())] == names
    if not sent.get("stream"):
        assert answer.json["model"] == ALIAS
    elif record["path"].startswith("/v1/chat"):
        wanted = sent.get("stream_options", {}).get("include_usage", False)
        final = read_chat(answer.body, usage_wanted=wanted)
        assert final["choices"][0]["finish_reason"] == "stop"
        assert (final["usage"] is not None) == wanted
    elif record["path"].startswith("/v1/messages"):
        assert read_messages(answer.body)["stop_reason"] == "end_turn"
    else:
        assert check_responses(answer.body).response["status"] == "completed"


@pytest.mark.parametrize("name", CHATS)
async def test_a_chat_client_is_passed_on(name: str, autojump_clock):
    """But for model, role, the name of the limit, empty content, and counts that are asked for."""
    sent = recorded(name)["body"]
    _, engine, _ = await replayed(recorded(name))
    expected = {**sent, "model": "served-model"}
    for message in expected["messages"]:
        message["role"] = {"developer": "system"}.get(message["role"], message["role"])
        message["content"] = message["content"] or ""
    if "max_completion_tokens" in expected:
        expected["max_tokens"] = expected.pop("max_completion_tokens")
    if expected.get("stream"):
        expected["stream_options"] = {"include_usage": True}
    assert json.loads(engine.chats[0].body) == expected


@pytest.mark.parametrize("name", EMBEDDINGS)
async def test_an_embeddings_client_is_passed_on(name: str, autojump_clock):
    """Byte for byte in both encodings, and the engine's answer comes back as it is."""
    record = recorded(name)
    body = json.dumps(record["body"]).encode()
    model = record["body"]["model"]
    purpose = embedding_model(model)
    config = config_of(direct_tier()).model_copy(update={"purpose_models": (purpose,)})
    async with open_small_house(config, make_engine=DemoUpstream) as small:
        engine = small.service(model)
        assert isinstance(engine, DemoUpstream)
        engine.beside = model
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        answer = await request(
            app,
            record["method"],
            record["path"],
            headers=headers_of(record),
            parts=[body],
            side=Side(),
        )
        assert answer.status == 200
        (call,) = engine.calls
        assert call.body == body
        direct = answer_beside("/v1/embeddings", b"application/json", body, model)
        assert isinstance(direct, Sounded)
        assert answer.body == direct.pieces[0]
        embedding = answer.json["data"][0]["embedding"]
        assert isinstance(embedding, str) == (record["body"]["encoding_format"] == "base64")
        await small.assert_at_rest()


def test_there_are_chat_clients():
    """Three programs, and the second turn of two agents."""
    assert {name.partition("-chat-")[0] for name in CHATS} == {"openai-python", "opencode", "pi"}
    turns = [
        name
        for name in CHATS
        if any(one["role"] == "tool" for one in recorded(name)["body"]["messages"])
    ]
    assert turns == ["opencode-chat-3", "pi-chat-2"]


@pytest.mark.parametrize(
    ("name", "kind"), [("openai-python-models", "object"), ("anthropic-python-models", "has_more")]
)
async def test_models_are_listed_for_each_sdk(name: str, kind: str, autojump_clock):
    """In its own shape."""
    answer, _, _ = await replayed(recorded(name))
    assert (answer.status, answer.json["data"][0]["id"]) == (200, ALIAS)
    assert kind in answer.json


async def test_claude_codes_probe_is_answered(autojump_clock):
    """A HEAD of the root, without a credential."""
    answer, engine, _ = await replayed(recorded("claude-code-01"))
    assert (answer.status, answer.body) == (200, b"")
    assert engine.attempts == 0


async def test_codex_is_told_to_post(autojump_clock):
    """426 to its handshake, and no engine is asked; its posts are among those above."""
    answer, engine, _ = await replayed(recorded("codex-websocket-1"))
    assert (answer.status, engine.attempts) == (426, 0)
    assert {"codex-websocket-2", "codex-websocket-3"} <= set(FILES)


async def test_a_session_of_a_client_is_recorded(autojump_clock):
    """OpenCode's `x-session-affinity` is the session; nothing of it reaches the engine."""
    record = recorded("opencode-chat-1")
    affinity = dict(record["headers"])["x-session-affinity"]
    _, engine, records = await replayed(record)
    assert records[0].session_id == affinity
    call = engine.chats[0]
    assert affinity not in str(call.request.headers)
    assert affinity.encode() not in call.body
