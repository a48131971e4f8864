"""Who is found ready, when it is published, and how members come and go."""

import pytest
import trio
import trio.testing

from anvil_trio.config.model import RouterSettings
from anvil_trio.facts import Verdict
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from tests.readiness.world import MODEL, World, direct, replicas
from tests.support import fake_upstream
from tests.support.fake_upstream import Fault, Reply, models, reply

SLOW = reply(b"{}", after_s=1.5)  # longer than a probe waits


async def test_all_members_ready_at_once(autojump_clock):
    """R007: each member is asked for health and identity, and is eligible from the first answer."""
    world = World(replicas("one", "a", "b"))
    await world.run_until(1)
    assert [paths(world, member) for member in "ab"] == [["/health", "/v1/models"]] * 2
    assert world.eligible("one")[-1] == (0, {"a", "b"})
    verdict = world.prober.verdict(TierId("one"), MemberId("a"))
    assert verdict == Verdict(True, "identity_passed", MODEL, 0.0)


def paths(world: World, member_id: str) -> list[str]:
    """What one member was asked, in order."""
    return [call.request.url.path for call in world.engine("one", member_id).probes]


async def test_probing_goes_on_at_its_interval(autojump_clock):
    """Probes of a member start one interval apart, for ever, and publish nothing new."""
    world = World(replicas("one", "a", "b"))
    await world.run_until(22)
    assert len(world.engine("one", "a").probes) == 2 * 5
    assert len(world.eligible("one")) <= 2


@pytest.mark.parametrize(
    ("health", "identity", "reason"),
    [
        (fake_upstream.REFUSED, None, "health_transport"),
        (Reply((Fault.RESET,)), None, "health_transport"),
        (Reply((Fault.MALFORMED,)), None, "health_transport"),
        (reply(status=500), None, "health_http_500"),
        (None, models("other-secret-model"), "identity_mismatch"),
        (None, models(), "identity_missing"),
        (None, reply(b"<html>"), "identity_malformed"),
        (None, reply(status=401), "identity_http_401"),
        (None, reply(b" " * 70_000), "identity_oversized"),
        (None, fake_upstream.REFUSED, "identity_transport"),
        (None, fake_upstream.stream(b"{", Fault.CUT), "identity_transport"),
    ],
)
async def test_one_proof_is_enough(autojump_clock, health, identity, reason):
    """A refusal, a bad status or a wrong identity ends readiness with one probe."""
    world = World(replicas("one", "a", "b"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(3)
        engine = world.engine("one", "b")
        engine.health, engine.models = health or engine.health, identity
        await trio.sleep(4)
        nursery.cancel_scope.cancel()
    assert world.eligible("one")[-1] == (5, {"a"})
    assert world.reason("one", "b") == reason
    assert "secret" not in repr(world.changes)


async def test_a_member_comes_back_without_traffic(autojump_clock):
    """HLT-02: a member that is out is asked four times as often, and one good probe is enough."""
    world = World(replicas("one", "a", "b"))
    world.engine("one", "b").health = fake_upstream.REFUSED
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(12)
        world.engine("one", "b").health = reply(b"{}")
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    assert world.eligible("one") == [(0, {"a"}), (12.5, {"a", "b"})]  # asked every 1.25 s
    assert list(world.reasons("one", "b")) == ["health_transport", "identity_passed"]


async def test_a_member_that_refused_somebody_is_asked_at_once(autojump_clock):
    """`hasten`: its verdict comes now and not with the next round; the rounds go on from there."""
    world = World(replicas("one", "a", "b"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(2)
        world.engine("one", "b").health = fake_upstream.REFUSED
        for _ in range(50):
            world.prober.hasten(TierId("one"), MemberId("b"))
        await trio.sleep(0.5)
        assert world.engine("one", "b").attempts == 3  # two of the first probe, and one refusal
        world.engine("one", "b").health = reply(b"{}")
        await trio.sleep(2)
        nursery.cancel_scope.cancel()
    assert world.eligible("one")[-2:] == [(2, {"a"}), (3.25, {"a", "b"})]


async def test_a_member_that_refused_somebody_amid_its_probe_is_asked_again(autojump_clock):
    """`hasten`: a probe that began before says nothing of what came after; one more follows it."""
    world = World(replicas("one", "a", "b"))
    world.engine("one", "b").health = reply(b"{}", after_s=0.5)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(0.2)
        world.prober.hasten(TierId("one"), MemberId("b"))
        await trio.sleep(0.8)
        assert len(world.engine("one", "b").probes) >= 3
        await trio.sleep(3)
        assert len(world.engine("one", "b").probes) == 4
        nursery.cancel_scope.cancel()


async def test_nobody_is_asked_in_haste_where_nobody_is_probed(autojump_clock):
    """`hasten`: a tier without a health path stays ready, whatever its engine refuses."""
    world = World(direct("one"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        world.prober.hasten(TierId("one"), DIRECT_MEMBER)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert world.engine("one").attempts == 0


async def test_one_timeout_changes_nothing_and_two_in_a_row_do(autojump_clock):
    """A slow engine keeps its last verdict until the timeouts are enough."""
    world = World(replicas("one", "a", "b"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(1)
        world.engine("one", "b").health = SLOW
        await trio.sleep(8)  # one timeout, at 6
        assert world.reason("one", "b") == "identity_passed"
        await trio.sleep(3)  # another, at 11
        assert world.reason("one", "b") == "health_transport"
        nursery.cancel_scope.cancel()
    assert world.eligible("one")[-1] == (11, {"a"})


async def test_a_busy_engine_whose_health_is_slow_now_and_then_does_not_flap(autojump_clock):
    """HLT-01: single timeouts between good answers never change what is published."""
    world = World(direct("one", health_path="/health"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(3)
        for health in [SLOW, reply(b"{}", after_s=0.9)] * 10:
            world.engine("one").health = health
            await trio.sleep(5)
        nursery.cancel_scope.cancel()
    assert world.eligible("one") == [(0, {DIRECT_MEMBER})]
    assert list(world.reasons("one")) == ["health_passed"]


async def test_a_hung_member_delays_no_other(autojump_clock):
    """A member that never answers costs the others nothing, at start or later."""
    world = World(replicas("one", "a", "b", "c"))
    world.engine("one", "a").health = Reply((Fault.STALL,))
    world.engine("one", "b").health = fake_upstream.STALLED_CONNECT
    await world.run_until(4)
    assert world.eligible("one") == [(0, {"c"})]
    assert len(world.engine("one", "c").probes) == 2


async def test_start_up_waits_for_the_first_knowledge(autojump_clock):
    """With no ready member a tier is published only once each member has a verdict."""
    world = World(replicas("one", "a", "b"))
    world.engine("one", "a").health = reply(status=503)
    world.engine("one", "b").health = Reply((Fault.STALL,))
    await world.run_until(10)
    assert world.reason("one", "b") == "health_transport"
    assert world.eligible("one") == [(2.25, set())]


async def test_a_direct_tier_without_a_health_path_is_always_ready(autojump_clock):
    """Nobody asks it anything, and it is published at once."""
    world = World(direct("one"))
    world.engine("one").health = fake_upstream.REFUSED
    await world.run_until(30)
    assert world.eligible("one") == [(0, {DIRECT_MEMBER})]
    assert world.reason("one") == "availability_not_configured"
    assert world.engine("one").attempts == 0


async def test_a_direct_tier_with_a_health_path_only_passes_by_health(autojump_clock):
    """Without `model_identity` the models are not asked for."""
    world = World(direct("one", health_path="/health"))
    world.engine("one").models = models("other")
    await world.run_until(1)
    assert world.eligible("one") == [(0, {DIRECT_MEMBER})]
    assert world.reason("one") == "health_passed"


async def test_a_direct_tier_may_ask_for_its_identity_too(autojump_clock):
    """A direct tier with `model_identity` is judged as a replica is (HLT-04)."""
    world = World(direct("one", health_path="/health", model_identity=True))
    world.engine("one").models = models("other-secret-model")
    await world.run_until(1)
    assert world.eligible("one") == [(0, set())]
    assert world.reason("one") == "identity_mismatch"


async def test_probes_carry_the_tiers_own_key(autojump_clock):
    """The tier's key goes with both questions, and without one no credential does."""
    world = World(
        replicas("one", "a", "b"), direct("two", health_path="/h"), keys={TierId("one"): "clé"}
    )
    world.engine("two").health_path = "/h"
    await world.run_until(1)
    seen = {call.request.headers.get("authorization") for call in world.engine("one", "a").probes}
    assert seen == {"Bearer clé"}
    assert "authorization" not in world.engine("two").probes[0].request.headers


async def test_an_endless_health_body_is_neither_read_nor_held_against_it(autojump_clock):
    """Health is the status alone: what goes on after 64 KiB is cut off and costs nothing."""
    world = World(direct("one", health_path="/health"))
    world.engine("one").health = fake_upstream.stream(*[b"x" * 40_000] * 3, Fault.STALL)
    await world.run_until(1)
    assert world.reason("one") == "health_passed"
    assert world.eligible("one") == [(0, {DIRECT_MEMBER})]


@pytest.mark.parametrize("body", [Reply((fake_upstream.Head(200), b"{", Fault.STALL)), SLOW])
async def test_a_probe_is_bounded_as_a_whole(autojump_clock, body):
    """The timeout bounds head and body of one call together."""
    world = World(replicas("one", "a", "b"), settings=RouterSettings(availability_failures=1))
    world.engine("one", "a").models = body
    await world.run_until(2)
    assert ("one", "a", Verdict(False, "identity_transport", None, 1.0)) in world.changes


async def test_a_transport_timeout_counts_as_one(autojump_clock):
    """A connection that the system gave up on is a timeout and no proof."""
    world = World(direct("one", health_path="/health"))
    world.engine("one").health = Reply((Fault.LATE,))
    await world.run_until(1)
    assert world.reason("one") == "probe_pending"


async def test_equal_member_ids_in_two_tiers_share_nothing(autojump_clock):
    """R007: a member's namesake in another tier shares no result, no loop and no invalidation."""
    world = World(replicas("one", "a", "b"), replicas("two", "a", "b"))
    world.engine("one", "a").health = fake_upstream.REFUSED
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        await trio.sleep(1)
        assert world.eligible("one")[-1][1] == {"b"}
        assert world.eligible("two")[-1][1] == {"a", "b"}
        before = len(world.engine("two", "a").probes)
        world.prober.invalidate(TierId("one"))
        await trio.testing.wait_all_tasks_blocked()
        assert world.reason("two", "a") == "identity_passed"
        assert len(world.engine("two", "a").probes) == before
        nursery.cancel_scope.cancel()
    assert len(world.eligible("two")) <= 2


async def test_an_unknown_member_is_a_bug(autojump_clock):
    """Nobody may ask for a member that does not exist."""
    world = World(direct("one"), replicas("two", "a", "b"))
    for tier_id, member_id in [("one", "x"), ("two", "x"), ("three", "a")]:
        with pytest.raises(KeyError):
            world.prober.verdict(TierId(tier_id), MemberId(member_id))


async def test_each_probe_that_ends_is_told(autojump_clock):
    """Also one that changes nothing: a timeout that is borne is a failed probe all the same."""
    world = World(replicas("one", "a", "b"))
    world.engine("one", "b").health = SLOW
    await world.run_until(4)
    one = TierId("one")
    assert [told for told in world.ended if told[1] == "a"] == [(one, "a", True)]
    # Each takes a second, and they begin a quarter of the interval apart; the fourth was cut off.
    assert [told for told in world.ended if told[1] == "b"] == [(one, "b", False)] * 3
    assert list(world.reasons("one", "b")) == ["health_transport"]
