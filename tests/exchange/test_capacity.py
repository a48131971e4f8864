"""The capacity strategy and sessions as whole exchanges meet them."""

from collections import Counter

import pytest
import trio

from anvil_trio.facts import Freshness, Pressure
from anvil_trio.names import MemberId, SessionId
from anvil_trio.tiers.affinity import home_of
from tests.support.chunks import good_reply
from tests.support.small_house import TIER, config_of, open_small_house, replica_tier

A, B = MemberId("a"), MemberId("b")


def session_at(member: MemberId) -> str:
    """A session whose own member is this one."""
    return next(f"s{n}" for n in range(99) if home_of(SessionId(f"s{n}"), (A, B)) == member)


async def test_a_burst_is_spread_before_any_engine_answers(autojump_clock):
    """Sixteen requests at once, engines that answer after a second: eight and eight."""
    tier = replica_tier(ceiling=16, replica_strategy="capacity")
    async with open_small_house(config_of(tier)) as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        async with trio.open_nursery() as nursery:
            for _ in range(16):
                nursery.start_soon(small.chat)
        assert Counter(record.replica_member_id for record in small.records) == {"a": 8, "b": 8}
        await small.assert_at_rest()


async def test_the_record_holds_what_was_ranked_by(autojump_clock):
    """A capacity tier's record has the evidence of its own selection."""
    tier = replica_tier(ceiling=4, replica_strategy="capacity")
    async with open_small_house(config_of(tier)) as small:
        small.house.tiers[TIER].set_signals({B: Pressure(Freshness.FRESH, 10)})
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        await small.chat()
        [record] = small.records
        evidence = record.replica_scheduler
        assert evidence is not None
        assert (record.replica_member_id, evidence.selected_member_id) == ("b", "b")
        assert [score.freshness for score in evidence.scores] == ["unknown", "fresh"]


async def test_no_eligible_member_is_evidence_too(autojump_clock):
    """A capacity tier without a ready member records that nobody could be taken."""
    tier = replica_tier(ceiling=4, replica_strategy="capacity")
    async with open_small_house(config_of(tier)) as small:
        small.ready()
        await small.chat()
        [record] = small.records
        assert record.replica_scheduler is not None
        assert record.replica_scheduler.reason == "no-eligible-member"


@pytest.mark.parametrize("member", [A, B])
async def test_a_session_keeps_its_member(member, autojump_clock):
    """With affinity on, a session's requests go to its own member, and the record says so."""
    async with open_small_house(config_of(replica_tier(replica_affinity="session"))) as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        for _ in range(3):
            await small.chat(session=session_at(member))
        seen = [(record.replica_member_id, record.affinity_hit) for record in small.records]
        assert seen == [(member, True)] * 3


@pytest.mark.parametrize(("affinity", "session"), [("session", None), ("none", session_at(A))])
async def test_without_header_or_setting_the_turns_are_as_ever(affinity, session, autojump_clock):
    """R008: a, b, a, b unless the tier wants sessions and the request has one."""
    async with open_small_house(config_of(replica_tier(replica_affinity=affinity))) as small:
        for engine in small.engines.values():
            engine.chat_default = good_reply()
        for _ in range(4):
            await small.chat(session=session)
        assert [record.replica_member_id for record in small.records] == ["a", "b", "a", "b"]
        assert {record.affinity_hit for record in small.records} == {None}
