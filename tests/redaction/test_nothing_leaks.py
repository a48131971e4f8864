"""R012: prompts, answers, keys, addresses and raw errors show nowhere but where they belong.

What is driven comes from the tables that the program itself uses, so that a new route, event line,
record field or page joins by being added there.
"""

import pytest
import trio

from tests.redaction.faults import ANSWERS, ASKED, OWN_ANSWERS, PATHS, SERVICES
from tests.redaction.planted import ALIASES, CANARY, OPERATOR, SAID
from tests.redaction.stage import LOUD_HEADERS, answer_leaks, bearer, open_planted
from tests.support.asgi import request

VALID = [name for name in ASKED if name.partition(" ")[0] in ALIASES]
INVALID = [name for name in ASKED if name not in VALID]


def asked_of(answer: str, dialect: str) -> list[str]:
    """The requests to which an engine may give this answer; Messages is spoken by one tier.

    A service is the same whatever the tier, and hands only its own events on as they are.
    """
    if dialect in SERVICES:
        ways = ("unary", "stream") if answer in OWN_ANSWERS else ("unary",)
        return [f"{ALIASES[0]} {way}" for way in ways]
    return [name for name in VALID if "messages" in name or "messages" not in answer]


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("answer", [*ANSWERS, "bug"])
async def test_whatever_an_engine_does_leaks_nothing(answer, dialect, tmp_path, autojump_clock):
    """R012: no answer of an engine, good or bad, shows anywhere but in its own caller's body."""
    async with open_planted(tmp_path) as planted:
        planted.answer_with(ANSWERS.get(answer))
        found, asking = [], asked_of(answer, dialect)
        for asked in asking:
            reply = await planted.ask(dialect, ASKED[asked][dialect])
            found += answer_leaks(asked, reply, to_caller=reply.status == 200)
        found += await planted.leaks()
        assert not found
        assert len(planted.house.log.ring) == len(asking)


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("asked", INVALID)
async def test_whatever_a_caller_says_leaks_nothing(asked, dialect, tmp_path, autojump_clock):
    """R012: no part of a request is in its refusal, in a record, in an event line or on a page."""
    async with open_planted(tmp_path) as planted:
        planted.answer_with(ANSWERS["good"])
        reply = await planted.ask(dialect, ASKED[asked][dialect])
        found = answer_leaks(asked, reply, to_caller=reply.status == 200)
        assert not found + await planted.leaks()


@pytest.mark.parametrize("model", ["kanarie-model", ""])
async def test_an_unexpected_model_leaks_nothing(model, tmp_path, autojump_clock):
    """R012: the name that an engine says it serves instead of the expected one is shown nowhere."""
    async with open_planted(tmp_path) as planted:
        planted.answer_with(ANSWERS["good"], model=model)
        await trio.sleep(60)
        reply = await planted.ask("chat", ASKED["llm.primary unary"]["chat"])
        assert reply.status == 503
        assert not answer_leaks("refusal", reply) + await planted.leaks()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/kanarie"),
        ("GET", "/v1/kanarie"),
        ("POST", "/v1/models/kanarie"),
        ("DELETE", "/v1/chat/completions"),
        ("KANARIE", "/v1/models"),
        ("OPTIONS", "/v1/kanarie"),
        ("GET", "/v1/requests/kanarie kanarie"),
        ("POST", "/v1/v1/chat/completions"),
    ],
)
@pytest.mark.parametrize("headers", [None, []])
async def test_a_mistaken_path_is_not_repeated(method, path, headers, tmp_path, autojump_clock):
    """R012: neither the path nor the method of a request shows in what is answered."""
    async with open_planted(tmp_path) as planted:
        sent = [bearer(OPERATOR), *LOUD_HEADERS] if headers is None else headers
        answer = await request(planted.app, method, path, headers=sent)
        assert not answer_leaks(path, answer)


async def test_the_plant_is_real(tmp_path, autojump_clock):
    """What an engine says to a caller reaches that caller, and the canaries reach the engine."""
    async with open_planted(tmp_path) as planted:
        planted.answer_with(ANSWERS["good"])
        reply = await planted.ask("chat", ASKED["llm.primary unary"]["chat"])
        assert SAID in reply.body.decode()
        (call,) = [call for engine in planted.engines for call in engine.calls if call.body]
        assert CANARY in call.body.decode()
        assert CANARY in str(call.request.url)
        assert CANARY in call.request.headers["authorization"]
        assert b"kanarie_extra" in call.body


@pytest.mark.parametrize(
    ("dialect", "answer", "way"),
    [
        ("embeddings", "embedded", "unary"),
        ("rerank", "ranked", "unary"),
        ("form", "heard", "unary"),
        ("form", "subtitles", "unary"),
        ("form", "own stream", "stream"),
        ("named hearing", "heard", "unary"),
        ("speech", "spoken", "unary"),
        ("speech", "own stream", "stream"),
    ],
)
async def test_the_plant_of_services_is_real(dialect, answer, way, tmp_path, autojump_clock):
    """What a service says reaches its caller, and its own private name and address are canaries."""
    async with open_planted(tmp_path) as planted:
        planted.answer_with(ANSWERS[answer])
        reply = await planted.ask(dialect, ASKED[f"{ALIASES[0]} {way}"][dialect])
        assert reply.status == 200
        assert SAID in reply.body.decode()
        (call,) = [call for engine in planted.engines for call in engine.calls if call.body]
        assert CANARY in str(call.request.url)
        assert CANARY in call.body.decode()
