"""A refused request reserves nothing, turns no cursor and is recorded (R009, R010)."""

import json

import pytest
import trio

from anvil_trio.config.model import ServerSettings
from tests.support.chunks import good_reply, good_stream
from tests.support.fake_caller import FakeCaller
from tests.support.small_house import TIER, chat_body, config_of, open_small_house, replica_tier


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"not json", 400, None),
        (b"[]", 400, None),
        (chat_body(stream=False, max_tokens="many"), 400, "max_tokens"),
        (chat_body(model="llm.other"), 404, "model"),
        (chat_body(messages=[{"role": "user", "content": "word " * 200_000}]), 400, "messages"),
    ],
)
async def test_a_refused_request_leaves_no_trace_but_its_record(
    body, status, param, autojump_clock
):
    """A 4xx names the field, calls nobody, and the next request still goes to a."""
    async with open_small_house() as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        caller = await small.serve(FakeCaller(body))
        assert caller.status == status
        if param is not None:
            assert json.loads(caller.received)["error"]["param"] == param
        assert sum(engine.attempts for engine in small.engines.values()) == 0
        await small.chat()
        refused, served = small.records
        assert refused.workload_outcome == "rejected"
        assert refused.attempts == ()
        assert served.replica_member_id == "a"
        await small.assert_at_rest()


async def test_an_unknown_alias_is_recorded_under_one_fixed_label(autojump_clock):
    """R001: a model that is not configured is a 404 whose name is kept nowhere."""
    async with open_small_house() as small:
        caller = await small.chat(model="canary-model")
        assert caller.status == 404
        assert b"canary" not in caller.received
        assert small.records[0].route == "unknown_model"


async def test_tools_on_a_tier_without_them_get_the_exhaustion_status(autojump_clock):
    """Decision 36: unsupported tools are refused with the operator's status, before selection."""
    config = config_of(replica_tier(tool_support=False), exhaustion_status=503)
    async with open_small_house(config) as small:
        tools = [{"type": "function", "function": {"name": "f"}}]
        caller = await small.chat(tools=tools)
        assert caller.status == 503
        assert small.records[0].replica_selection == "request_rejected"
        assert sum(engine.attempts for engine in small.engines.values()) == 0


async def test_the_front_door_never_waits(autojump_clock):
    """Beyond max_concurrency a request is refused at once: 503 server_busy, Retry-After 1."""
    config = config_of(server=ServerSettings(max_concurrency=1))
    async with open_small_house(config) as small:
        small.engine("a").chat = [good_stream("x", gap_s=5.0)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)))
            await trio.sleep(1)
            caller = await small.chat()
            assert trio.current_time() == 1
        assert caller.status == 503
        assert caller.headers[b"retry-after"] == b"1"
        assert json.loads(caller.received)["error"]["code"] == "server_busy"
        await small.assert_at_rest()


async def test_a_full_tier_is_waited_for_until_the_admission_deadline(autojump_clock):
    """Decision 4: a caller waits up to admission_timeout_s, then gets 503 admission_timeout."""
    config = config_of(
        replica_tier(max_concurrency=1), server=ServerSettings(admission_timeout_s=3)
    )
    async with open_small_house(config) as small:
        for engine in small.engines.values():
            engine.chat_default = good_stream("x", gap_s=10.0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)))
            await trio.sleep(1)
            caller = await small.chat(stream=True)
            assert trio.current_time() == 4
            assert (caller.status, caller.headers[b"retry-after"]) == (503, b"1")
            assert json.loads(caller.received)["error"]["code"] == "admission_timeout"
            late = await small.chat(stream=True)
            assert trio.current_time() == 7
            assert late.status == 503
        waited = await small.chat(stream=True)
        assert waited.status == 200
        await small.assert_at_rest()


async def test_quiesce_between_the_gates_and_the_lease_refuses(autojump_clock):
    """R011, RACE-07: the tier's own state is rechecked in the step that reserves."""
    async with open_small_house() as small:
        small.engine("a").chat_default = good_reply()
        caller = FakeCaller(chat_body(), body_delay_s=1.0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(0.5)
            small.house.tiers[TIER].set_quiesced(True)
        assert caller.status == 503
        assert small.records[0].workload_outcome == "rejected"
        assert sum(engine.attempts for engine in small.engines.values()) == 0


async def test_at_start_the_first_verdict_is_awaited(autojump_clock):
    """R007: a request that comes before the first verdict waits for it, within its deadline."""
    async with open_small_house(is_ready=False) as small:
        small.engine("b").chat_default = good_reply()
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def publish():
                await trio.sleep(2)
                small.ready("b")

            caller = await small.chat()
        assert caller.status == 200
        assert trio.current_time() == 2
