"""Which member is asked, and that no other ever is (R001, R008, R009, T008)."""

import json
from itertools import count

import pytest
import trio

from tests.support.chunks import DONE, ROLE, good_reply, good_stream, seen_text, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import (
    BROKEN_WRITE,
    REFUSED,
    STALLED_CONNECT,
    STALLED_WRITE,
    Fault,
    Head,
    Reply,
    Step,
    reply,
)
from tests.support.small_house import (
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
    replica_tier,
)


async def test_four_requests_go_a_b_a_b(autojump_clock):
    """R008: four sequential requests take the members in the stable order a, b, a, b."""
    async with open_small_house() as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        for _ in range(4):
            caller = await small.chat()
            assert caller.status == 200
        assert [record.replica_member_id for record in small.records] == ["a", "b", "a", "b"]
        await small.assert_at_rest()


async def test_a_member_that_is_not_ready_is_skipped_until_it_recovers(autojump_clock):
    """R008, R011: with b down a, a, a; after recovery b has its turn again."""
    async with open_small_house() as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        small.ready("a")
        for _ in range(3):
            await small.chat()
        small.ready("a", "b")
        await small.chat()
        assert [record.replica_member_id for record in small.records] == ["a", "a", "a", "b"]


async def test_with_no_ready_member_nobody_is_called(autojump_clock):
    """R008: both members down gives the exhaustion reply, no upstream call and no member."""
    async with open_small_house(config_of(exhaustion_status=529)) as small:
        small.ready()
        caller = await small.chat()
        assert caller.status == 529
        assert caller.headers[b"retry-after"] == b"1"
        assert json.loads(caller.received)["error"]["code"] == "service_unavailable"
        assert [engine.attempts for engine in small.engines.values()] == [0, 0]
        record = small.records[0]
        assert (record.replica_member_id, record.replica_selection) == (None, "not_admitted")
        assert record.attempts == ()
        await small.assert_at_rest()


BROKEN: list[Step] = [Head(200, ((b"content-type", b"text/event-stream"),)), ROLE, text("par")]

FAILURES = {
    "refused": (REFUSED, 502),
    "stalled connect": (STALLED_CONNECT, 504),
    "stalled write": (STALLED_WRITE, 504),
    "broken write": (BROKEN_WRITE, 502),
    "http 500": (reply(b"<html>secret</html>", status=500), 502),
    "http 429": (reply(b"{}", status=429), 429),
    "silence": (Reply((Fault.STALL,)), 200),  # the first heartbeat has sent the head
    "reset before the head": (Reply((Fault.RESET,)), 502),
    "malformed head": (Reply((Fault.MALFORMED,)), 502),
    "redirect": (reply(status=302), 502),
    "reset in the stream": (Reply((*BROKEN, Fault.RESET)), 200),
    "cut in the stream": (Reply((*BROKEN, Fault.CUT)), 200),
    "silence in the stream": (Reply((*BROKEN, Fault.STALL)), 200),
    "malformed SSE": (stream(ROLE, b"data: {not json\n\n", DONE), 200),
    "an error in the stream": (stream(ROLE, b'data: {"error":{"message":"x"}}\n\n'), 200),
    "an end without finish": (stream(ROLE, text("par")), 200),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("is_direct", [False, True])
async def test_a_failure_is_attempted_once_and_the_peer_hears_nothing(
    name, is_direct, autojump_clock
):
    """R009, T008: whatever goes wrong after selection, one attempt, one release, no replay."""
    script, status = FAILURES[name]
    tier = direct_tier() if is_direct else replica_tier()
    member = "" if is_direct else "a"
    async with open_small_house(config_of(tier)) as small:
        small.engine(member).chat = [script]
        caller = await small.chat(stream=True)
        assert caller.status == status
        assert caller.has_ended
        assert b"[DONE]" not in caller.received
        assert b"secret" not in caller.received
        assert [engine.attempts for engine in small.engines.values()] == [1, 0][: 2 - is_direct]
        [record] = small.records
        assert len(record.attempts) == 1
        assert not record.attempts[0].succeeded
        assert record.attempts[0].reason == "backend_error"
        await small.assert_at_rest()


@pytest.mark.parametrize(
    ("name", "status"),
    [("refused", 502), ("http 500", 502), ("silence", 504), ("malformed head", 502)],
)
async def test_a_unary_failure_is_attempted_once(name, status, autojump_clock):
    """R009: a unary request is tried once, too."""
    script, _ = FAILURES[name]
    async with open_small_house() as small:
        small.engine("a").chat = [script]
        caller = await small.chat()
        assert caller.status == status
        assert [engine.attempts for engine in small.engines.values()] == [1, 0]
        await small.assert_at_rest()


async def test_equal_member_ids_in_two_tiers_are_strangers(autojump_clock):
    """T007: the members of another tier have their own counters, cursor and engines."""
    tiers = replica_tier("primary"), replica_tier("second")
    async with open_small_house(config_of(*tiers)) as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        small.ready("b", tier="second")
        await small.chat()
        await small.chat(model="llm.second")
        await small.chat()
        assert [(r.requested_tier, r.replica_member_id) for r in small.records] == [
            ("primary", "a"),
            ("second", "b"),
            ("primary", "b"),
        ]
        await small.assert_at_rest()


async def test_readiness_lost_in_mid_stream_changes_nothing_for_that_stream(autojump_clock):
    """R011, T009: losing readiness stops new selections and leaves the running stream alone."""
    async with open_small_house() as small:
        small.engine("a").chat = [good_stream("one ", "two", gap_s=1.0)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1.5)
            small.ready()
            assert (await small.chat()).status == 503
        assert seen_text(caller.received) == "one two"
        assert caller.received.endswith(DONE)
        await small.assert_at_rest()


async def test_concurrent_exchanges_never_see_each_other(autojump_clock):
    """Tool calls, finish reasons and usage of one exchange never reach another."""
    async with open_small_house() as small:
        for name in ("a", "b"):
            numbers = count()
            small.engine(name).chat_default = lambda _, name=name, numbers=numbers: good_stream(
                f"{name}{(n := next(numbers))}-1 ", f"{name}{n}-2", gap_s=0.5
            )
        callers = [FakeCaller(chat_body(stream=True)) for _ in range(20)]
        async with trio.open_nursery() as nursery:
            for caller in callers:
                nursery.start_soon(small.serve, caller)
        seen = sorted(seen_text(caller.received) for caller in callers)
        assert seen == sorted(f"{m}{n}-1 {m}{n}-2" for m in "ab" for n in range(10))
        await small.assert_at_rest()
