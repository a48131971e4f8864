"""Forgetting a member on purpose, and results that come too late or grow too old."""

import httpx
import pytest
import trio
import trio.testing

from anvil_trio.facts import Readiness, Verdict
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.upstream.client import open_probe_client
from anvil_trio.upstream.stream import END, HandOn, Head, Received, Request, flow_by_receiving
from tests.readiness.world import World, direct, replicas
from tests.support import fake_upstream
from tests.support.fake_upstream import FakeCall, FakeUpstream, reply

ONE, A = TierId("one"), MemberId("a")


class Stubborn(FakeUpstream):
    """An engine whose probe number `held` cannot be cancelled and answers when it is let go."""

    def __init__(self, held: int) -> None:
        super().__init__()
        self.held = held
        self.begun, self.let_go, self.answered = trio.Event(), trio.Event(), trio.Event()

    async def send(self, request: Request | httpx.Request, body: bytes) -> FakeCall:
        if self.attempts != self.held:
            return await super().send(request, body)
        self.attempts += 1
        self.begun.set()
        with trio.CancelScope(shield=True):
            await self.let_go.wait()
        self.answered.set()
        self.attempts -= 1
        self.held = -1
        return await super().send(request, body)


def with_stubborn(world: World, held: int) -> Stubborn:
    """Put a stubborn engine in the place of member a."""
    engine = Stubborn(held)
    world.engines[ONE, A] = engine
    clients = {(ONE, A): open_probe_client(engine, "http://one-a.test")}
    world.prober._clients = {**world.prober._clients, **clients}
    return engine


async def test_a_probe_begun_before_an_invalidation_publishes_nothing(autojump_clock, nursery):
    """RACE-02, T003: an old probe's good answer that comes after a new bad one is lost."""
    world = World(replicas("one", "a", "b"))
    engine = with_stubborn(world, held=0)
    await nursery.start(world.prober.run)
    await engine.begun.wait()  # P1 has begun
    engine.health = reply(status=500)
    world.prober.invalidate(ONE, A)
    await trio.testing.wait_all_tasks_blocked()  # P2 has found it bad
    assert world.reason("one", "a") == "health_http_500"
    engine.health = reply(b"{}")
    published = len(world.published[ONE])
    engine.let_go.set()
    await engine.answered.wait()  # P1 is good
    await trio.testing.wait_all_tasks_blocked()
    assert world.reason("one", "a") == "health_http_500"
    assert len(world.published[ONE]) == published
    assert world.eligible("one")[-1][1] == {"b"}


class LastByte:
    """A good answer whose end comes when it is let go; nothing waits after that."""

    is_written = True

    def __init__(self) -> None:
        self.let_go = trio.Event()
        self.items: list[Received] = [Head(200), b"{}"]

    def send_now(self, request: Request, body: bytes) -> "LastByte | None":
        """Not here."""
        return None

    async def send(self, request: Request | httpx.Request, body: bytes) -> "LastByte":
        return self

    async def write_rest(self) -> None:
        """Nothing is left."""

    def take(self) -> Received | None:
        return None

    async def receive(self) -> Received:
        if self.items:
            return self.items.pop(0)
        await self.let_go.wait()
        return END

    async def flow(self, hand_on: HandOn) -> bool:
        return await flow_by_receiving(self.receive, hand_on)

    async def open_stream(self) -> trio.abc.Stream:
        raise AssertionError("a probe is a request")

    async def aclose(self) -> None:
        pass


async def test_an_answer_of_the_same_step_as_the_invalidation_is_lost(autojump_clock, nursery):
    """RACE-02: a probe that has its last byte when its member is invalidated settles nothing."""
    world = World(direct("one", health_path="/health"))
    key = (ONE, DIRECT_MEMBER)
    engine, after = LastByte(), open_probe_client(fake_bad(), "http://one.test")
    clients = {key: open_probe_client(engine, "http://one.test")}
    world.prober._clients = clients
    await nursery.start(world.prober.run)
    await trio.testing.wait_all_tasks_blocked()
    clients[key] = after
    engine.let_go.set()  # the old probe will run on to its end ...
    world.prober.invalidate(ONE)  # ... but counts no more
    await trio.testing.wait_all_tasks_blocked()
    assert list(world.reasons("one")) == ["probe_invalidated", "health_http_500"]
    assert world.eligible("one") == [(0, set())]


def fake_bad() -> FakeUpstream:
    """An engine that is not well."""
    return FakeUpstream(health=reply(status=500))


async def test_an_invalidation_holds_from_its_own_step(autojump_clock, nursery):
    """The member is ineligible before `invalidate` returns, the others stay."""
    world = World(replicas("one", "a", "b"))
    await nursery.start(world.prober.run)
    await trio.testing.wait_all_tasks_blocked()
    world.prober.invalidate(ONE, A)
    assert world.reason("one", "a") == "probe_pending"
    assert world.eligible("one")[-1][1] == {"b"}


async def test_an_invalidated_member_is_asked_at_once(autojump_clock, nursery):
    """Nobody waits an interval for a member that was readmitted."""
    world = World(replicas("one", "a", "b"))
    await nursery.start(world.prober.run)
    await trio.sleep(1)
    world.prober.invalidate(ONE, A)
    await trio.testing.wait_all_tasks_blocked()
    assert world.eligible("one")[-2:] == [(1, {"b"}), (1, {"a", "b"})]
    assert world.reason("one", "a") == "identity_passed"


async def test_a_hung_probe_does_not_hold_up_the_next_one(autojump_clock, nursery):
    """The probe that was under way is given up, and its connection is closed."""
    world = World(replicas("one", "a", "b"))
    engine = world.engine("one", "a")
    engine.health = fake_upstream.STALLED_WRITE
    await nursery.start(world.prober.run)
    await trio.testing.wait_all_tasks_blocked()
    engine.health = reply(b"{}")
    world.prober.invalidate(ONE, A)
    await trio.testing.wait_all_tasks_blocked()
    assert world.reason("one", "a") == "identity_passed"
    assert engine.opened == engine.closed


async def test_a_whole_tier_can_be_invalidated(autojump_clock, nursery):
    """Without a member named all of them are forgotten in one step and asked again."""
    world = World(replicas("one", "a", "b"))
    await nursery.start(world.prober.run)
    await trio.sleep(1)
    world.prober.invalidate(ONE)
    assert world.eligible("one")[-1] == (1, set())
    await trio.testing.wait_all_tasks_blocked()
    assert world.eligible("one")[-1] == (1, {"a", "b"})


async def test_an_invalidated_member_keeps_one_loop(autojump_clock):
    """However often a member is invalidated, it is probed once an interval afterwards."""
    world = World(direct("one", health_path="/health"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.prober.run)
        for _ in range(5):
            await trio.testing.wait_all_tasks_blocked()
            world.prober.invalidate(ONE)
        await trio.testing.wait_all_tasks_blocked()
        before = len(world.engine("one").probes)
        await trio.sleep(5.5)
        nursery.cancel_scope.cancel()
    assert len(world.engine("one").probes) == before + 1


async def test_an_invalidated_direct_tier_says_so(autojump_clock, nursery):
    """Until it has answered anew a direct tier is `probe_invalidated`."""
    world = World(direct("one", health_path="/health"))
    await nursery.start(world.prober.run)
    await trio.testing.wait_all_tasks_blocked()
    world.prober.invalidate(ONE)
    assert world.reason("one") == "probe_invalidated"
    assert world.eligible("one")[-1][1] == set()


async def test_a_tier_that_nobody_probes_cannot_be_invalidated(autojump_clock, nursery):
    """An invalidation leaves a direct tier without a health path as ready as it was."""
    world = World(direct("one"))
    await nursery.start(world.prober.run)
    world.prober.invalidate(ONE)
    world.prober.invalidate(ONE, DIRECT_MEMBER)
    assert world.published[ONE] == [(0, Readiness(1, frozenset({DIRECT_MEMBER})))]
    assert world.reason("one") == "availability_not_configured"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_invalidation_without_a_running_prober_only_forgets(autojump_clock, when):
    """Before it runs and after it has stopped, the prober starts nothing."""
    world = World(replicas("one", "a", "b"))
    if when == "after":
        await world.run_until(1)
    world.prober.invalidate(ONE)
    await trio.testing.wait_all_tasks_blocked()
    assert world.reason("one", "a") == "probe_pending"
    assert len(world.engine("one", "a").probes) == (2 if when == "after" else 0)


async def test_a_result_that_grew_too_old_is_published_by_a_timer(autojump_clock, nursery):
    """A member whose probe never returns becomes ineligible though nobody looks."""
    world = World(replicas("one", "a", "b"))
    engine = with_stubborn(world, held=2)  # its second round begins at 5 and never ends
    await nursery.start(world.prober.run)
    await trio.sleep(13.9)
    assert engine.begun.is_set()
    assert world.eligible("one")[-1] == (0, {"a", "b"})
    await trio.sleep(0.2)
    assert world.eligible("one")[-1] == (14, {"b"})
    assert world.prober.verdict(ONE, A) == Verdict(False, "probe_pending", None, 0.0)
    assert list(world.reasons("one", "a")) == ["identity_passed", "probe_pending"]
    engine.let_go.set()
    await trio.sleep(1)
    assert world.eligible("one")[-1][1] == {"a", "b"}


async def test_probing_anew_waits_for_a_new_verdict_on_each(autojump_clock, nursery):
    """R011: not the old verdicts, and not those of the first to answer."""
    world = World(replicas("one", "a", "b"), replicas("two", "a", "b"))
    await nursery.start(world.prober.run)
    await trio.sleep(1)
    world.engine("one", "a").health = reply(b"{}", after_s=0.5)
    world.engine("one", "b").health = reply(status=500)
    probes = len(world.engine("two", "a").calls)
    await world.prober.probe_anew(ONE)
    assert trio.current_time() == 1.5
    assert (world.reason("one", "a"), world.reason("one", "b")) == (
        "identity_passed",
        "health_http_500",
    )
    assert len(world.engine("two", "a").calls) == probes


async def test_probing_one_member_anew_leaves_its_peer_alone(autojump_clock, nursery):
    """The peer stays eligible and is not asked."""
    world = World(replicas("one", "a", "b"))
    await nursery.start(world.prober.run)
    await trio.sleep(1)
    calls = len(world.engine("one", "b").calls)
    await world.prober.probe_anew(ONE, A)
    assert (len(world.engine("one", "b").calls), world.reason("one", "a")) == (
        calls,
        "identity_passed",
    )
    assert world.eligible("one")[-2:] == [(1, {"b"}), (1, {"a", "b"})]


async def test_probing_anew_waits_through_a_first_timeout(autojump_clock, nursery):
    """Decision 26: one timeout is no verdict, two in a row are; the caller's scope is the bound."""
    world = World(replicas("one", "a", "b"))
    await nursery.start(world.prober.run)
    await trio.sleep(1)
    world.engine("one", "a").health = fake_upstream.STALLED_WRITE
    with trio.move_on_after(1.5) as bound:
        await world.prober.probe_anew(ONE, A)
    assert bound.cancelled_caught
    assert world.reason("one", "a") == "probe_pending"
    await world.prober.probe_anew(ONE, A)
    assert world.reason("one", "a") == "health_transport"


async def test_probing_anew_what_is_not_probed_returns_at_once(autojump_clock, nursery):
    """A direct tier without a health path is always ready."""
    world = World(direct("one"))
    await nursery.start(world.prober.run)
    with trio.fail_after(0):
        await world.prober.probe_anew(ONE)
    assert world.reason("one") == "availability_not_configured"
