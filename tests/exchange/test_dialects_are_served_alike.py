"""Once a dialect is known all that happens is the same: ends, beats, leaving, waiting, refusal."""

import json
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.config.model import ServerSettings
from anvil_trio.errors import Code, problem
from tests.support.chunks import DONE, ROLE, STOP, good_reply, good_stream, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import REFUSED, SSE, Fault, Head, Reply, reply
from tests.support.small_house import SmallHouse, config_of, open_small_house
from tests.support.three_dialects import THREE, Spoken

SERVER = ServerSettings(
    admission_timeout_s=10,
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
)
BEAT = b": keepalive\n"


@pytest.fixture(params=THREE)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    """Each of the three dialects in turn."""
    return THREE[request.param]


@pytest.fixture
async def small():
    """A house of two ready replicas, with short waits."""
    async with open_small_house(config_of(server=SERVER)) as small:
        yield small


async def ask(small: SmallHouse, spoken: Spoken, **body) -> FakeCaller:
    """One exchange of a caller that stays and reads."""
    return await small.serve(FakeCaller(spoken.body(**body)), dialect=spoken.dialect)


async def expect_one(small: SmallHouse, workload: str, reason: str) -> None:
    """One record with one attempt on a, b untouched, everything given back."""
    await small.assert_at_rest()
    [record] = small.records
    assert record.workload_outcome == workload
    assert [attempt.reason for attempt in record.attempts] == [reason]
    assert small.engine("b").attempts == 0


async def test_a_stream_ends_well(spoken, small, autojump_clock):
    """All text, the caller's own spelling of the model, the dialect's own good end."""
    small.engine("a").chat = [good_stream("Hel", "lo")]
    caller = await ask(small, spoken, stream=True, model=" LLM.Primary ")
    assert caller.headers[b"content-type"].startswith(b"text/event-stream")
    assert spoken.text(caller.received) == "Hello"
    assert spoken.good_end in caller.received
    assert b" LLM.Primary " in caller.received
    assert b"served-model" not in caller.received
    await expect_one(small, "success", "served")


async def test_a_unary_reply_is_whole(spoken, small, autojump_clock):
    """Its length is true, and the record has the engine's counts."""
    small.engine("a").chat = [good_reply("Hi")]
    caller = await ask(small, spoken)
    assert spoken.whole_text(caller.received) == "Hi"
    assert caller.headers[b"content-length"] == b"%d" % len(caller.received)
    assert (small.records[0].total_prompt_tokens, small.records[0].total_completion_tokens) == (
        5,
        1,
    )
    await expect_one(small, "success", "served")


async def test_a_plain_reply_is_made_a_stream(spoken, small, autojump_clock):
    """An engine that does not stream is served all the same."""
    small.engine("a").chat = [good_reply("Hi")]
    caller = await ask(small, spoken, stream=True)
    assert spoken.text(caller.received) == "Hi"
    assert spoken.good_end in caller.received
    await expect_one(small, "success", "served")


async def test_a_malformed_stream_ends_in_an_error(spoken, small, autojump_clock):
    """One error frame in the dialect's own words, and no good end."""
    small.engine("a").chat = [stream(ROLE, text("x"), b"data: {oops\n\n", text("y"), DONE)]
    caller = await ask(small, spoken, stream=True)
    assert spoken.text(caller.received) == "x"
    assert spoken.last_error(caller.received)["message"]
    assert spoken.good_end not in caller.received
    await expect_one(small, "error", "backend_error")


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CUT, Fault.MALFORMED])
async def test_a_broken_connection_ends_in_an_error(fault, spoken, small, autojump_clock):
    """Whatever breaks before the finish reason is no good end."""
    small.engine("a").chat = [stream(ROLE, text("x"), fault)]
    caller = await ask(small, spoken, stream=True)
    assert spoken.last_error(caller.received)["message"]
    assert spoken.good_end not in caller.received
    await expect_one(small, "error", "backend_error")


async def test_a_break_after_the_reason_loses_nothing(spoken, small, autojump_clock):
    """Once it is known why the answer ended, it is whole (decision 8)."""
    small.engine("a").chat = [stream(ROLE, text("x"), STOP, Fault.RESET)]
    caller = await ask(small, spoken, stream=True)
    assert spoken.good_end in caller.received
    await expect_one(small, "success", "served")


async def test_an_engine_that_lingers_is_given_two_seconds(spoken, small, autojump_clock):
    """After the reason the grace is short, and the end is good."""
    small.engine("a").chat = [stream(ROLE, text("x"), STOP, Fault.STALL)]
    caller = await ask(small, spoken, stream=True)
    assert trio.current_time() == 2
    assert spoken.good_end in caller.received
    await expect_one(small, "success", "served")


async def test_silence_is_beaten_and_then_named(spoken, small, autojump_clock):
    """A heartbeat after 15 s, the idle deadline after 20."""
    small.engine("a").chat = [stream(ROLE, text("x"), Fault.STALL)]
    caller = await ask(small, spoken, stream=True)
    assert trio.current_time() == 20
    assert caller.received.count(BEAT) == 1
    assert spoken.last_error(caller.received)["message"]
    await expect_one(small, "timeout", "backend_error")


LIVELY = stream(ROLE, *[step for _ in range(60) for step in (5.0, text("x"))])


@pytest.mark.parametrize(
    ("script", "code", "at"),
    [
        (Reply((Fault.STALL,)), Code.STARTUP_TIMEOUT, SERVER.startup_timeout_s),
        (stream(ROLE, text("x"), Fault.STALL), Code.IDLE_TIMEOUT, SERVER.idle_timeout_s),
        (LIVELY, Code.REQUEST_TIMEOUT, SERVER.total_timeout_s),
    ],
    ids=["startup", "idle", "total"],
)
async def test_the_frame_names_the_deadline(script, code, at, spoken, small, autojump_clock):
    """Which deadline fired is said in the dialect's own shape, at that deadline's own moment."""
    small.engine("a").chat = [script]
    caller = await ask(small, spoken, stream=True)
    assert trio.current_time() == at
    error = spoken.last_error(caller.received)
    assert error["message"] == problem(code).message
    if spoken.name == "chat":
        assert error["code"] == code.value
    assert spoken.good_end not in caller.received
    await expect_one(small, "timeout", "backend_error")


async def test_beats_come_before_the_first_event(spoken, small, autojump_clock):
    """The head leaves with the first beat; the stream begins when the engine does."""
    small.engine("a").chat = [stream(40.0, ROLE, text("x"), STOP, DONE)]
    caller = await ask(small, spoken, stream=True)
    assert caller.received.startswith(BEAT * 2)
    assert spoken.text(caller.received) == "x"
    assert spoken.good_end in caller.received
    await expect_one(small, "success", "served")


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize(
    ("script", "status"),
    [
        (REFUSED, 502),
        (reply(b'{"error":{"message":"no"}}', status=401), 502),
        (reply(b'{"error":{"message":"no"}}', status=422), 422),
        (reply(b"{}", status=429), 429),
        (reply(b"{}", status=529), 503),
        (Reply((Fault.STALL,)), 504),
    ],
)
async def test_an_early_failure_is_a_plain_error(
    script, status, is_stream, spoken, small, autojump_clock
):
    """Before the head an engine's failure has a status of its own and the dialect's JSON."""
    small.engine("a").chat = [script]
    caller = await ask(small, spoken, stream=is_stream)
    if status == 504 and is_stream:  # the head left with a beat
        assert spoken.last_error(caller.received)["message"]
        return
    assert caller.status == status
    every = [problem(code, status=status) for code in Code]
    assert caller.received in map(spoken.dialect.render_problem, every)
    assert (b"retry-after" in caller.headers) == (status in {429, 503})
    await small.assert_at_rest()


PHASES = {
    "before the engine's head": Reply((Fault.STALL,)),
    "after the engine's head": Reply((Head(200, SSE), Fault.STALL)),
    "in mid-stream": stream(ROLE, text("x"), Fault.STALL),
    "in a unary body": Reply((Head(200), b"{", Fault.STALL)),
}


@pytest.mark.parametrize("phase", PHASES)
async def test_a_caller_that_leaves_frees_the_engine(phase, spoken, small, autojump_clock):
    """In the same instant, in every phase."""
    small.engine("a").chat = [PHASES[phase]]
    caller = FakeCaller(spoken.body(stream="unary" not in phase))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(small.serve, caller, dialect=spoken.dialect))
        await trio.sleep(3)
        caller.leave()
        await wait_all_tasks_blocked()
        assert small.engine("a").closed == 1
        assert trio.current_time() == 3
    assert not caller.has_ended
    await expect_one(small, "disconnected", "client_disconnected")


async def test_a_full_tier_is_waited_for_and_then_refused(spoken, small, autojump_clock):
    """Admission is the same queue for all: 503 with Retry-After once the time is over."""
    small.limit_to(1)
    small.engine("a").chat = [stream(ROLE, Fault.STALL)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(ask, small, spoken, stream=True))
        await trio.sleep(0.1)
        caller = await ask(small, spoken, stream=True)
        assert trio.current_time() == pytest.approx(10.1)
        assert (caller.status, caller.headers[b"retry-after"]) == (503, b"1")
        assert "error" in json.loads(caller.received)
        nursery.cancel_scope.cancel()
    await small.assert_at_rest()


async def test_an_unknown_model_is_not_found(spoken, small, autojump_clock):
    """A 404 in the dialect's words, recorded, and no engine asked."""
    caller = await ask(small, spoken, model="nobody")
    assert caller.status == 404
    assert "error" in json.loads(caller.received)
    assert small.engine("a").attempts == 0
    assert len(small.records) == 1
