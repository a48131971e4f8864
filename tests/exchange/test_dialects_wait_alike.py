"""Admission, deadlines, leaving and slow readers are the same code for callers of all dialects."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.config.model import ServerSettings
from anvil_trio.names import LEGACY_CLIENT
from tests.exchange.common import SERVER
from tests.support.chunks import ROLE, good_reply, good_stream, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import SSE, STALLED_CONNECT, Fault, Head, Reply, reply
from tests.support.small_house import SmallHouse, config_of, open_small_house, replica_tier
from tests.support.three_dialects import THREE, Spoken


@pytest.fixture(params=THREE)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    """Each of the three dialects in turn."""
    return THREE[request.param]


def house(tier_fields: dict[str, Any] | None = None, **server):
    """A house with short waits."""
    settings: ServerSettings = SERVER.model_copy(update=server)
    return open_small_house(config_of(replica_tier(**(tier_fields or {})), server=settings))


async def ask(small: SmallHouse, spoken: Spoken, **body) -> FakeCaller:
    """One exchange of a caller that stays and reads."""
    return await small.serve(FakeCaller(spoken.body(**body)), dialect=spoken.dialect)


async def refused(small: SmallHouse, spoken: Spoken, status: int, **body) -> None:
    """An error in the dialect's own words, with Retry-After where it may pass; no engine asked."""
    asked = sum(engine.attempts for engine in small.engines.values())
    caller = await ask(small, spoken, **body)
    assert caller.status == status
    assert json.loads(caller.received)["error"]["message"]
    assert caller.headers[b"retry-after"] == b"1"
    assert sum(engine.attempts for engine in small.engines.values()) == asked


@pytest.mark.parametrize("is_stream", [True, False])
async def test_no_ready_member_is_a_refusal_at_once(is_stream, spoken, autojump_clock):
    """Nobody waits for what may never come."""
    async with house() as small:
        small.ready()
        await refused(small, spoken, 503, stream=is_stream)
        assert trio.current_time() == 0


async def test_a_quiesced_tier_is_a_refusal_at_once(spoken, autojump_clock):
    """The operator's word counts for all."""
    async with house() as small:
        for handle in small.house.tiers.values():
            handle.set_quiesced(True)
        await refused(small, spoken, 503)
        await small.assert_at_rest()


async def test_a_full_front_door_never_waits(spoken, autojump_clock):
    """503 in no time, and no record of the tier."""
    async with house(max_concurrency=1) as small:
        small.engine("a").chat = [Reply((Fault.STALL,))]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ask, small, spoken))
            await trio.sleep(1)
            await refused(small, spoken, 503)
            assert trio.current_time() == 1
            nursery.cancel_scope.cancel()


async def test_a_clients_own_cap_is_a_429(spoken, autojump_clock):
    """At once, with Retry-After."""
    async with house(auth_env="TOKEN", client_limits={LEGACY_CLIENT: 1}) as small:
        small.engine("a").chat = [Reply((Fault.STALL,))]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ask, small, spoken))
            await trio.sleep(1)
            await refused(small, spoken, 429)
            nursery.cancel_scope.cancel()


async def test_a_waiting_caller_takes_the_next_free_place(spoken, autojump_clock):
    """Whatever the one before it spoke."""
    async with house() as small:
        small.limit_to(1)
        small.engine("a").chat = [good_stream("x", gap_s=5.0)]
        small.engine("b").chat = [good_reply("y")]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ask, small, spoken, stream=True))
            await trio.sleep(1)
            caller = await ask(small, spoken)
            assert trio.current_time() == pytest.approx(5, abs=0.1)
        assert spoken.whole_text(caller.received) == "y"
        await small.assert_at_rest()


async def leave_at(caller: FakeCaller, at_s: float, is_gone: Callable[[], bool]) -> None:
    """Leave then, and be gone in that instant."""
    await trio.sleep_until(at_s)
    caller.leave()
    await wait_all_tasks_blocked()
    assert is_gone()
    assert trio.current_time() == at_s


async def test_leaving_the_line_is_noticed_at_once(spoken, autojump_clock):
    """A caller that waits for a place and goes leaves no trace but its record."""
    async with house(admission_timeout_s=100) as small:
        small.limit_to(1)
        small.engine("a").chat = [Reply((Fault.STALL,))]
        waiting = FakeCaller(spoken.body())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ask, small, spoken))
            await trio.sleep(1)
            nursery.start_soon(partial(small.serve, waiting, dialect=spoken.dialect))
            await trio.sleep(1)
            assert (await small.snapshot()).waiting == 1
            await leave_at(waiting, 3, lambda: len(small.records) == 1)
            assert (await small.snapshot()).waiting == 0
            nursery.cancel_scope.cancel()
        assert not waiting.has_started
        assert small.engine("b").attempts == 0


async def test_leaving_while_the_body_is_read_is_noticed_at_once(spoken, autojump_clock):
    """No engine is asked."""
    async with house() as small:
        caller = FakeCaller(spoken.body(), body_delay_s=50)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(small.serve, caller, dialect=spoken.dialect))
            await leave_at(caller, 3, lambda: len(small.house.exchanges) == 0)
        await small.assert_at_rest()
        assert small.engine("a").attempts == 0


async def test_startup_bounds_the_wait_for_the_first_event(spoken, autojump_clock):
    """Comments are no progress; without a beat before it is a plain 504."""
    comments = [step for _ in range(30) for step in (2.0, b": working\n\n")]
    async with house(heartbeat_interval_s=500) as small:
        small.engine("a").chat = [Reply((Head(200, SSE), *comments))]
        caller = await ask(small, spoken, stream=True)
        assert (trio.current_time(), caller.status) == (50, 504)
        await small.assert_at_rest()


async def test_the_total_deadline_ends_a_lively_stream(spoken, autojump_clock):
    """It is absolute; the dialect's own error frame is last."""
    async with house() as small:
        small.engine("a").chat = [good_stream(*["x"] * 100, gap_s=3.0)]
        caller = await ask(small, spoken, stream=True)
        assert trio.current_time() == 200
        assert spoken.last_error(caller.received)["message"]
        assert spoken.good_end not in caller.received
        await small.assert_at_rest()


@pytest.mark.parametrize("is_stream", [True, False])
async def test_the_total_deadline_ends_a_silent_request(is_stream, spoken, autojump_clock):
    """504 where nothing was sent."""
    async with house(startup_timeout_s=500, idle_timeout_s=500, heartbeat_interval_s=500) as small:
        small.engine("a").chat = [Reply((Fault.STALL,))]
        caller = await ask(small, spoken, stream=is_stream)
        assert (trio.current_time(), caller.status) == (200, 504)
        await small.assert_at_rest()


async def test_a_connection_that_stalls_is_bounded(spoken, autojump_clock):
    """By the tier's own timeout, and never tried again."""
    async with house({"timeout": 7}) as small:
        small.engine("a").chat = [STALLED_CONNECT]
        caller = await ask(small, spoken, stream=True)
        assert (trio.current_time(), caller.status) == (7, 504)
        assert small.engine("b").attempts == 0
        await small.assert_at_rest()


async def test_a_caller_that_stops_reading_is_let_go(spoken, autojump_clock):
    """After 30 s of a full socket the engine is free again."""
    async with house() as small:
        pieces = [step for _ in range(20) for step in (1.0, text("x"))]
        small.engine("a").chat = [stream(ROLE, *pieces)]
        caller = FakeCaller(spoken.body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(small.serve, caller, dialect=spoken.dialect))
            await trio.sleep(2.5)
            caller.stop_reading()
        assert 32 < trio.current_time() <= 34
        assert small.engine("a").closed == 1
        assert [one.workload_outcome for one in small.records] == ["disconnected"]
        await small.assert_at_rest()


async def test_tools_are_gated_alike(spoken, autojump_clock):
    """A tier without tools refuses a request with some, before anything is reserved."""
    tool: dict[str, object] = {"name": "f", "parameters": {"type": "object"}}
    tools = {
        "chat": {"type": "function", "function": tool},
        "messages": {"name": "f", "input_schema": {"type": "object"}},
        "responses": {"type": "function", **tool},
    }
    async with house({"tool_support": False}) as small:
        body = {**json.loads(spoken.body()), "tools": [tools[spoken.name]]}
        caller = await small.serve(FakeCaller(json.dumps(body).encode()), dialect=spoken.dialect)
        assert caller.status == 503
        assert small.engine("a").attempts == 0
        await small.assert_at_rest()


async def test_the_context_is_gated_alike(spoken, autojump_clock):
    """A prompt above the limit is a 400 that names the overflow in the dialect's words."""
    async with house() as small:
        body = json.loads(spoken.body())
        body |= (
            {"input": "a " * 200_000}
            if "input" in body
            else {"messages": [{"role": "user", "content": "a " * 200_000}]}
        )
        caller = await small.serve(FakeCaller(json.dumps(body).encode()), dialect=spoken.dialect)
        assert caller.status == 400
        error = json.loads(caller.received)["error"]
        words = "prompt is too long" if spoken.name == "messages" else "context"
        assert words in error["message"]
        assert small.engine("a").attempts == 0


@pytest.mark.parametrize("is_stream", [True, False])
async def test_an_estimate_is_marked_as_one(is_stream, spoken, autojump_clock):
    """Where no engine counts, the record has what the caller was told, as an estimate, or null."""
    body = {"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]}
    async with house() as small:
        small.engine("a").chat = [
            good_stream("x") if is_stream else reply(json.dumps(body).encode())
        ]
        await ask(small, spoken, stream=is_stream)
        (record,) = small.records
        assert (record.prompt_tokens_source, record.completion_tokens_source) == (
            "estimated",
            "unknown" if spoken.name == "chat" else "estimated",
        )
        assert record.total_prompt_tokens == 1
        assert record.total_completion_tokens == (None if spoken.name == "chat" else 1)
        assert record.workload_outcome == "success"
