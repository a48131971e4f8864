"""Every captured reply of a real engine, for callers of all three dialects, decoded exactly."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.config.model import TierDialect
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import END, Head, Reply
from tests.support.final_said import (
    STOPS,
    Said,
    said_in_chat,
    said_in_messages,
    said_in_responses,
)
from tests.support.grammars import check_responses, read_chat, read_messages
from tests.support.small_house import SmallHouse, config_of, direct_tier, open_small_house
from tests.support.three_dialects import THREE

FOLDER = Path(__file__).parents[1] / "data" / "captures"


@dataclass(frozen=True, slots=True)
class Capture:
    """One reply: what its engine was asked in, its status and kind, and its body."""

    dialect: TierDialect
    status: int
    kind: str
    body: bytes

    @property
    def is_stream(self) -> bool:
        """Whether it is one of events."""
        return self.kind == "text/event-stream"

    @property
    def datas(self) -> Iterator[dict[str, Any]]:
        """The JSON of its events."""
        for line in self.body.decode().splitlines():
            if line.startswith("data: {"):
                yield json.loads(line[6:])


def capture(path: Path) -> Capture:
    """One file: a line about the reply, then its body."""
    line, _, body = path.read_bytes().partition(b"\n")
    asked, status, kind = line.decode().split()
    dialect = TierDialect.OPENAI if asked == "chat" else TierDialect.ANTHROPIC
    return Capture(dialect, int(status), kind, body)


CAPTURES = {path.name: capture(path) for path in sorted(FOLDER.iterdir())}
BROKEN = [name for name, one in CAPTURES.items() if b'data: {"error"' in one.body]
GOOD = [name for name, one in CAPTURES.items() if one.status == 200 and name not in BROKEN]
BAD = [name for name, one in CAPTURES.items() if one.status != 200]


def merged(capture: Capture) -> tuple[Said, dict[str, int]]:
    """What a reply says and counts, read here by the simplest means."""
    if capture.dialect is TierDialect.OPENAI:
        chunks = [*capture.datas] if capture.is_stream else [json.loads(capture.body)]
        return _of_chunks(chunks)
    if not capture.is_stream:
        message = json.loads(capture.body)
        return said_in_messages(message), message["usage"]
    return _of_events([*capture.datas])


def _of_chunks(chunks: list[dict[str, Any]]) -> tuple[Said, dict[str, int]]:
    thinking = text = reason = ""
    calls: dict[int, list[str]] = {}
    usage: dict[str, int] = {}
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            if choice["index"]:
                continue  # a second answer has no word outside of Chat
            said = choice.get("delta") or choice.get("message") or {}
            text += said.get("content") or ""
            thinking += said.get("reasoning_content") or said.get("reasoning") or ""
            for at, call in enumerate(said.get("tool_calls") or ()):
                known = calls.setdefault(call.get("index", at), ["", ""])
                known[0] += call["function"].get("name") or ""
                known[1] += call["function"].get("arguments") or ""
            reason = choice.get("finish_reason") or reason
    made = tuple((name, json.loads(arguments)) for name, arguments in calls.values())
    return Said(thinking, text, made, reason), usage


def _of_events(events: list[dict[str, Any]]) -> tuple[Said, dict[str, int]]:
    thinking = text = reason = ""
    calls: dict[int, list[str]] = {}
    usage: dict[str, int] = {}
    for event in events:
        match event:
            case {"type": "message_start", "message": message}:
                usage |= message["usage"]
            case {"content_block": {"type": "tool_use", "name": name}}:
                calls[event["index"]] = [name, ""]
            case {"delta": {"text": more}}:
                text += more
            case {"delta": {"thinking": more}}:
                thinking += more
            case {"delta": {"partial_json": more}}:
                calls[event["index"]][1] += more
            case {"type": "message_delta", "delta": delta}:
                reason = STOPS[delta["stop_reason"]]
                usage |= event["usage"]
    made = tuple((name, json.loads(arguments)) for name, arguments in calls.values())
    return Said(thinking, text, made, reason), usage


async def played(small: SmallHouse, capture: Capture, dialect: str) -> FakeCaller:
    """What a caller of this dialect gets of it."""
    kind = ((b"content-type", capture.kind.encode()),)
    small.engine().chat = [Reply((Head(capture.status, kind), capture.body, END))]
    spoken = THREE[dialect]
    body = json.loads(spoken.body(stream=capture.is_stream))
    if dialect == "chat" and capture.is_stream:
        body["stream_options"] = {"include_usage": True}
    caller = FakeCaller(json.dumps(body).encode())
    await small.serve(caller, dialect=spoken.dialect)
    await small.assert_at_rest()
    return caller


def received(caller: FakeCaller, capture: Capture, dialect: str) -> Said:
    """The words of what a caller got."""
    whole: dict[str, Any]
    if not capture.is_stream:
        whole = json.loads(caller.received)
    elif dialect == "chat":
        whole = continuous(caller.received)
    elif dialect == "messages":
        whole = read_messages(caller.received)
    else:
        whole = check_responses(caller.received).response
    readers = {"chat": said_in_chat, "messages": said_in_messages, "responses": said_in_responses}
    return readers[dialect](whole)


def continuous(stream: bytes) -> dict[str, Any]:
    """A Chat stream in whose chunks an engine may count on the way, which is its own affair."""
    blocks = []
    for block in stream.split(b"\n\n"):
        if block.startswith(b"data: {"):
            chunk = json.loads(block[6:])
            if chunk["choices"]:
                chunk.pop("usage", None)
            block = b"data: " + json.dumps(chunk).encode()  # noqa: PLW2901
        blocks.append(block)
    return read_chat(b"\n\n".join(blocks), usage_wanted=True)


def settled(said: Said) -> Said:
    """An end after calls is one in calls, whatever word an engine has for it."""
    return replace(said, reason="tool_calls") if said.calls and said.reason == "stop" else said


@pytest.mark.parametrize("dialect", THREE)
@pytest.mark.parametrize("name", GOOD)
async def test_a_captured_reply_is_decoded_exactly(name: str, dialect: str, autojump_clock):
    """Thoughts, text, calls, the end, and the engine's own counts in the record."""
    one = CAPTURES[name]
    said, usage = merged(one)
    async with open_small_house(config_of(direct_tier(dialect=one.dialect))) as small:
        caller = await played(small, one, dialect)
        (record,) = small.records
    assert caller.status == 200
    assert settled(received(caller, one, dialect)) == settled(said)
    assert record.workload_outcome == "success"
    prompt, completion = record.total_prompt_tokens, record.total_completion_tokens
    if one.dialect is TierDialect.OPENAI and usage:
        assert (prompt, completion) == (usage["prompt_tokens"], usage["completion_tokens"])
    elif usage:
        cached = usage.get("cache_read_input_tokens") or 0
        assert (prompt, completion) == (usage["input_tokens"] + cached, usage["output_tokens"])


@pytest.mark.parametrize("dialect", THREE)
@pytest.mark.parametrize("name", BAD)
async def test_a_captured_refusal_is_an_error(name: str, dialect: str, autojump_clock):
    """A 400 stays one, all else is a 502; an overflow is told by its code or its words."""
    one = CAPTURES[name]
    async with open_small_house(config_of(direct_tier(dialect=one.dialect))) as small:
        caller = await played(small, one, dialect)
    assert caller.status == (400 if one.status == 400 else 502)
    error = json.loads(caller.received)["error"]
    is_overflow = (
        "prompt is too long" in error["message"]
        if dialect == "messages"
        else error["code"] == "context_length_exceeded"
    )
    assert is_overflow == ("too-long" in name)
    assert one.body.decode() not in caller.received.decode()


@pytest.mark.parametrize("dialect", THREE)
@pytest.mark.parametrize("name", BROKEN)
async def test_a_captured_error_in_a_stream_is_an_error(name: str, dialect: str, autojump_clock):
    """A 200 that holds nothing but an error object is the error that its code says."""
    one = CAPTURES[name]
    async with open_small_house(config_of(direct_tier(dialect=one.dialect))) as small:
        caller = await played(small, one, dialect)
    assert caller.status == 400
    assert "error" in json.loads(caller.received)
    assert BROKEN == ["sglang.17-chat-tools-named-stream"]


def test_three_engines_were_captured_in_both_dialects():
    """Unary, streamed, thinking, calling, cut and refusing."""
    assert {name.partition(".")[0] for name in CAPTURES} == {
        "llamacpp",
        "sglang",
        "vllm",
        "vllm-qwen3",
    }
    for dialect in (TierDialect.OPENAI, TierDialect.ANTHROPIC):
        good = [CAPTURES[name] for name in GOOD if CAPTURES[name].dialect is dialect]
        said = [merged(one)[0] for one in good]
        assert {one.is_stream for one in good} == {True, False}
        assert any(one.thinking for one in said)
        assert any(one.calls for one in said)
        assert any(one.reason == "length" for one in said)
    assert len(BAD) > 20
