"""Every reply that a fault case scripts, in every dialect: SDK helper and grammar agree."""

from typing import Any

import httpx2
import pytest
import trio

from anvil_trio.config.model import TierDialect
from tests.sdks.asks import Answer, Ask
from tests.sdks.speakers import DIALECTS, answering
from tests.support.asgi import TOKEN
from tests.support.case_streams import ScriptedReply, scripted_replies
from tests.support.fake_caller import FakeCaller
from tests.support.final_said import said_in_chat, said_in_messages, said_in_responses
from tests.support.grammars import check_responses, read_chat, read_messages
from tests.support.small_house import config_of, direct_tier, open_small_house
from tests.support.three_dialects import THREE

SCRIPTS = scripted_replies()
LARGE = {"SSE-10.0", "SSE-10.1"}  # events above the bound: 17 MB each


async def played(script: ScriptedReply, dialect: str) -> FakeCaller:
    """What a caller of this dialect gets of it through the router."""
    spoken = THREE[dialect]
    config = config_of(direct_tier(dialect=script.tier_dialect))
    async with open_small_house(config) as small:
        small.engine().chat = [script.reply]
        caller = await small.serve(FakeCaller(spoken.body(stream=True)), dialect=spoken.dialect)
        await small.assert_at_rest()
    return caller


def judged(dialect: str, caller: FakeCaller, script: ScriptedReply) -> dict[str, Any]:
    """What the grammar makes of a stream: its final message, or `{"error": ...}`."""
    if dialect == "chat":
        is_relayed = script.tier_dialect is TierDialect.OPENAI and script.is_stream
        return read_chat(caller.received, is_relayed=is_relayed)
    if dialect == "messages":
        return read_messages(caller.received)
    response = check_responses(caller.received).response
    return response if response["error"] is None else {"error": response["error"]}


async def helped(dialect: str, caller: FakeCaller) -> Answer | Exception:
    """What the stream helper makes of it; any error but one of the SDK's own is a failure."""

    async def answer(_asked: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        headers = [(name.decode(), value.decode()) for name, value in caller.headers.items()]
        return httpx2.Response(caller.status or 0, headers=headers, content=caller.received)

    speaker = DIALECTS[dialect]
    base = speaker.errors.AnthropicError if dialect == "messages" else speaker.errors.OpenAIError
    async with answering(speaker, "async", TOKEN, answer) as asking:
        try:
            made: Answer = await asking("helped", Ask())
        except base as error:
            failed: Exception = error
            return failed
        return made


def said_by(dialect: str, final: dict[str, Any]) -> Any:
    """The words of a final message."""
    readers = {
        "chat": said_in_chat,
        "messages": said_in_messages,
        "responses": said_in_responses,
    }
    return readers[dialect](final)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", SCRIPTS)
async def test_helper_and_grammar_agree(name: str, dialect: str, autojump_clock):
    """A final message that says what the grammar checker reads, or the SDK's own error class."""
    script = SCRIPTS[name]
    caller = await played(script, dialect)
    answer = await helped(dialect, caller)
    if caller.status != 200:
        assert isinstance(answer, DIALECTS[dialect].errors.APIStatusError)
        return
    final = judged(dialect, caller, script)
    if "error" in final and final["error"] is not None:
        if dialect == "responses":  # the SDK hands on the last event and raises nothing
            assert isinstance(answer, Answer)
            assert answer.final.status == "failed"
        else:
            assert isinstance(answer, DIALECTS[dialect].errors.APIError)
        return
    said = said_by(dialect, final)
    if isinstance(answer, Exception):  # Chat's helper raises for what was cut
        assert said.reason in {"length", "content_filter"}
        completion: Any = answer.completion  # type: ignore[attr-defined]
        assert said_in_chat(completion.to_dict(warnings=False)) == said
    else:
        assert answer.said.firm == said.firm


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in LARGE])
async def test_all_dialects_are_told_the_same(name: str, autojump_clock):
    """Text, thoughts, calls and the kind of end do not depend on who asks."""
    script = SCRIPTS[name]
    seen: list[object] = []
    for dialect in DIALECTS:
        caller = await played(script, dialect)
        if caller.status != 200:
            seen.append(caller.status)
            continue
        final = judged(dialect, caller, script)
        failed = final.get("error") is not None
        seen.append("failed" if failed else told(said_by(dialect, final)))
    assert seen[0] == seen[1] == seen[2]


def told(said: Any) -> tuple[Any, ...]:
    """Chat hands on a `stop` after calls as its engine has it; elsewhere it is an end in calls."""
    reason = "tool_calls" if said.calls and said.reason == "stop" else said.reason
    return said.thinking, said.text, said.firm.calls, reason


def test_there_are_many():
    """Each class of cases has replies of its own here."""
    assert len(SCRIPTS) > 60
    classes = {name.partition("-")[0] for name in SCRIPTS}
    assert classes == {"SSE", "TOOL", "THINK", "USE", "STOP", "MSG", "HTTP"}
