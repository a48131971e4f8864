"""Every error of the router is an error class of the SDKs, in every dialect and way to ask."""

import json
from functools import partial
from typing import Any

import httpx2
import pytest
import trio

from anvil_trio.errors import Code, Overflow, problem
from tests.sdks.asks import Ask
from tests.sdks.demo_upstream import answer_from, open_app
from tests.sdks.speakers import DIALECTS, MODES, WAYS, answering
from tests.support.asgi import TOKEN
from tests.support.chunks import ROLE, text
from tests.support.fake_upstream import REFUSED, Fault, reply, stream
from tests.support.small_house import ALIAS
from tests.support.three_dialects import THREE

CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
OTHERS = {  # statuses for which Anthropic's SDK has classes beyond OpenAI's
    413: "RequestTooLargeError",
    503: "ServiceUnavailableError",
    504: "DeadlineExceededError",
}


def class_of(status: int, dialect: str) -> type[Exception]:
    """The class that an SDK has for a status."""
    errors = DIALECTS[dialect].errors
    name = CLASSES.get(status)
    if dialect == "messages":
        name = name or OTHERS.get(status)
    if name is None:
        name = "InternalServerError" if status >= 500 else "APIStatusError"
    made: type[Exception] = getattr(errors, name)
    return made


@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_code_is_a_class_of_its_status(dialect: str, mode: str, code: Code):
    """Before a stream begins an error is the same in every way to ask."""
    what = problem(code)
    body = THREE[dialect].dialect.render_problem(what)

    async def refuse(_asked: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        kind = {"content-type": "application/json"}
        return httpx2.Response(what.status, headers=kind, content=body)

    async with answering(DIALECTS[dialect], mode, TOKEN, refuse) as asking:
        for way in WAYS:
            with pytest.raises(class_of(what.status, dialect)) as caught:
                await asking(way, Ask())
            error: Any = caught.value
            assert error.status_code == what.status
            assert error.body == (
                json.loads(body)["error"] if dialect != "messages" else json.loads(body)
            )


FAULTS = {
    "refused": (REFUSED, 502),
    "forbidden": (reply(b"{}", status=403), 502),
    "too many": (reply(b"{}", status=429), 429),
    "overloaded": (reply(b"{}", status=529), 503),
    "unprocessable": (reply(b"{}", status=422), 422),
    "no reply": (reply(b"oops"), 502),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_engines_fault_is_a_class_of_its_status(dialect: str, mode: str, fault: str):
    """Through the whole application."""
    script, status = FAULTS[fault]
    async with (
        open_app() as (app, engine),
        answering(DIALECTS[dialect], mode, TOKEN, partial(answer_from, app)) as asking,
    ):
        for way in WAYS:
            engine.chat = [script]
            with pytest.raises(class_of(status, dialect)) as caught:
                await asking(way, Ask(model=ALIAS))
            error: Any = caught.value
            assert error.status_code == status
            assert ("retry-after" in error.response.headers) == (status in {429, 503})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", ["chat", "messages"])
async def test_a_stream_that_breaks_raises(dialect: str, mode: str):
    """What came before it was said; then the SDK's own error says what the router says."""
    async with (
        open_app() as (app, engine),
        answering(DIALECTS[dialect], mode, TOKEN, partial(answer_from, app)) as asking,
    ):
        for way in ("streamed", "helped"):
            engine.chat = [stream(ROLE, text("Hel"), Fault.RESET)]
            with pytest.raises(DIALECTS[dialect].errors.APIError, match="model"):
                await asking(way, Ask(model=ALIAS))


@pytest.mark.parametrize("mode", MODES)
async def test_a_response_that_breaks_is_failed(mode: str):
    """That API tells of it in a last event, which the SDK hands on, not in an exception."""
    async with (
        open_app() as (app, engine),
        answering(DIALECTS["responses"], mode, TOKEN, partial(answer_from, app)) as asking,
    ):
        engine.chat = [stream(ROLE, text("Hel"), Fault.RESET)]
        answer = await asking("helped", Ask(model=ALIAS))
    assert answer.final.status == "failed"
    assert answer.final.error.code == "server_error"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stranger_and_a_wrong_field(dialect: str, mode: str):
    """401 before all else; 400 with words that clients show."""
    speaker = DIALECTS[dialect]
    async with open_app() as (app, _engine):
        async with answering(speaker, mode, "wrong", partial(answer_from, app)) as asking:
            for way in WAYS:
                with pytest.raises(speaker.errors.AuthenticationError):
                    await asking(way, Ask(model=ALIAS))
        async with answering(speaker, mode, TOKEN, partial(answer_from, app)) as asking:
            for way in WAYS:
                with pytest.raises(speaker.errors.BadRequestError, match="must be"):
                    await asking(way, Ask(model=ALIAS, limit=-1))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_overflow_says_so_in_the_words_that_clients_know(dialect: str):
    """By OpenAI's code, or by Anthropic's sentence."""
    what = problem(Code.CONTEXT_LENGTH_EXCEEDED, overflow=Overflow(9, 8))
    body = THREE[dialect].dialect.render_problem(what)

    async def refuse(_asked: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        kind = {"content-type": "application/json"}
        return httpx2.Response(what.status, headers=kind, content=body)

    speaker = DIALECTS[dialect]
    async with answering(speaker, "async", TOKEN, refuse) as asking:
        with pytest.raises(speaker.errors.BadRequestError) as caught:
            await asking("whole", Ask())
    error: Any = caught.value
    if dialect == "messages":
        assert "prompt is too long: 9 tokens > 8 maximum" in str(error)
    else:
        assert error.code == "context_length_exceeded"
