"""The sampler on virtual time: two workers, peace between readings, faults that cost nobody."""

import math
from collections.abc import Mapping

import httpx
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.facts import Freshness, Pressure
from anvil_trio.names import MemberId, TierId
from anvil_trio.signals.prometheus_text import MAX_TEXT_BYTES
from anvil_trio.signals.sampler import Sampler
from anvil_trio.upstream.client import open_probe_client
from tests.support.fake_upstream import REFUSED, FakeUpstream, Fault, Head, Reply, reply
from tests.support.small_house import config_of, direct_tier, replica_tier

TIER = TierId("primary")
HUNG = Reply((Fault.STALL,))


def page(running: int = 0, waiting: int = 0) -> Reply:
    """A metrics page of vLLM's."""
    text = f"vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n"
    return reply(text.encode(), headers=((b"content-type", b"text/plain"),))


def capacity_tier(*members: str, engine: str | None = "vllm", ceiling: int = 4) -> Tier:
    """A capacity tier whose members all have the same ceiling."""
    return replica_tier(
        members=members, ceiling=ceiling, replica_strategy="capacity", engine=engine
    )


class World:
    """A sampler over these tiers; every engine is idle until a test says otherwise."""

    def __init__(self, *tiers: Tier, keys: Mapping[TierId, str | None] | None = None) -> None:
        config: RouterConfig = config_of(*tiers)
        self.engines = {
            (TierId(tier.id), member_id): FakeUpstream(pages={"/metrics": page()})
            for tier in tiers
            for member_id in tier.member_ids
        }
        clients: dict[tuple[TierId, MemberId], httpx.AsyncClient] = {
            key: open_probe_client(engine, config.tier(key[0]).endpoint_of(key[1]))
            for key, engine in self.engines.items()
        }
        self.told: list[tuple[float, TierId, Mapping[MemberId, Pressure]]] = []
        self.sampler = Sampler(config, clients, keys or {}, self._publish)

    def engine(self, member: str = "", tier: str = TIER) -> FakeUpstream:
        return self.engines[TierId(tier), MemberId(member)]

    def script(self, member: str, *replies: Reply, tier: str = TIER) -> None:
        """What this member's readings get, one after another; the last one again and again."""
        self.engine(member, tier).pages["/metrics"] = lambda n: replies[min(n, len(replies) - 1)]

    def reads(self, member: str = "", tier: str = TIER) -> int:
        return len(self.engine(member, tier).calls_to("/metrics"))

    def freshness(self, member: str) -> list[tuple[float, str]]:
        """When this member's freshness changed, as its tier was told."""
        changes: list[tuple[float, str]] = []
        for at, _, pressures in self.told:
            freshness = pressures[MemberId(member)].freshness.value
            if not changes or changes[-1][1] != freshness:
                changes.append((at, freshness))
        return changes

    async def run_until(self, at: float) -> None:
        """Sample from now until that moment, then stop; nothing may be left open."""
        with trio.move_on_at(at):
            await self.sampler.run()
        assert all(engine.opened == engine.closed for engine in self.engines.values())

    def _publish(self, tier_id: TierId, pressures: Mapping[MemberId, Pressure]) -> None:
        self.told.append((trio.current_time(), tier_id, pressures))


async def test_a_capacity_tier_is_told_the_pressures_of_its_members(autojump_clock):
    """Nothing is known at first; then each reading that changes something is told at once."""
    world = World(capacity_tier("a", "b"))
    world.script("a", page(running=1), page(running=2))
    start = trio.current_time()
    await world.run_until(start + 2.5)
    unknown, fresh = Pressure(Freshness.UNKNOWN), Freshness.FRESH
    told = [(at - start, dict(pressures)) for at, _, pressures in world.told]
    assert told == [
        (0, {"a": unknown, "b": unknown}),
        (0, {"a": Pressure(fresh, 250_000), "b": unknown}),
        (0, {"a": Pressure(fresh, 250_000), "b": Pressure(fresh, 0)}),
        (1, {"a": Pressure(fresh, 500_000), "b": Pressure(fresh, 0)}),
    ] or told == [
        (0, {"a": unknown, "b": unknown}),
        (0, {"a": unknown, "b": Pressure(fresh, 0)}),
        (0, {"a": Pressure(fresh, 250_000), "b": Pressure(fresh, 0)}),
        (1, {"a": Pressure(fresh, 500_000), "b": Pressure(fresh, 0)}),
    ]


async def test_an_engine_is_read_once_a_second(autojump_clock):
    """A second passes between the end of a reading and the next one."""
    world = World(capacity_tier("a", "b"))
    slow = reply(b"vllm:num_requests_running 0\n", after_s=0.5)
    world.script("a", slow)
    await world.run_until(trio.current_time() + 9.25)
    assert (world.reads("a"), world.reads("b")) == (7, 10)


async def test_a_hung_engine_delays_no_other_and_becomes_unknown_after_5_s(autojump_clock):
    """Its last reading counts for five seconds; meanwhile the other is read each second."""
    world = World(capacity_tier("a", "b"))
    world.script("a", page(), HUNG)
    start = trio.current_time()
    await world.run_until(start + 9.5)
    changes = [(round(at - start, 6), what) for at, what in world.freshness("a")]
    assert changes == [(0, "unknown"), (0, "fresh"), (5, "failed")]
    assert world.reads("b") == 10
    assert [what for _, what in world.freshness("b")] == ["unknown", "fresh"]


async def test_a_failing_engine_is_left_in_peace_for_longer_and_longer(autojump_clock):
    """Readings that fail come after 2, 4, 8 and again 8 seconds; success brings back the second."""
    world = World(capacity_tier("a", "b"))
    bad = reply(b"", status=500)
    world.script("a", bad, bad, bad, bad, page())
    start = trio.current_time()
    begun = []
    scripted = world.engine("a").pages["/metrics"]

    def noting(number: int) -> Reply:
        begun.append(trio.current_time() - start)
        assert callable(scripted)
        return scripted(number)

    world.engine("a").pages["/metrics"] = noting
    await world.run_until(start + 25)
    assert begun == [0, 2, 6, 14, 22, 23, 24]
    assert [what for _, what in world.freshness("a")] == ["unknown", "failed", "fresh"]


async def test_at_most_two_readings_run_and_one_per_engine(autojump_clock):
    """With every engine hung, two are read at a time, each at most once, and all have a turn."""
    names = [f"m{n:02}" for n in range(16)]
    world = World(capacity_tier(*names))
    for name in names:
        world.script(name, HUNG)
    with trio.move_on_after(7.9):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.sampler.run)
            await trio.sleep(0.5)
            while True:
                await trio.sleep(1)
                assert sum(e.opened - e.closed for e in world.engines.values()) == 2
                assert all(e.opened - e.closed <= 1 for e in world.engines.values())
    assert [world.reads(name) for name in names] == [1] * 16


async def test_sixteen_engines_with_one_hung_all_stay_fresh(autojump_clock):
    """MET-02: one that hangs costs the other fifteen nothing."""
    names = [f"m{n:02}" for n in range(16)]
    world = World(capacity_tier(*names))
    world.script("m03", HUNG)
    await world.run_until(trio.current_time() + 20.5)
    for name in names:
        if name != "m03":
            assert [what for _, what in world.freshness(name)] == ["unknown", "fresh"]
            assert world.reads(name) == 21


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (REFUSED, "metrics_transport"),
        (HUNG, "metrics_transport"),
        (Reply((Head(200, ()), Fault.RESET)), "metrics_transport"),
        (Reply((Head(200, ()), Fault.STALL)), "metrics_transport"),
        (reply(b"", status=404), "metrics_http"),
        (reply(b"", status=302), "metrics_http"),
        (reply(b"#" * (MAX_TEXT_BYTES + 1)), "metrics_oversized"),
        (reply(b"vllm:num_requests_running x\n"), "metrics_malformed"),
        (reply(b"<html></html>"), "metrics_missing"),
    ],
)
async def test_every_fault_is_named_and_gives_no_numbers(script, reason, autojump_clock):
    """Whatever goes wrong is a reason from a closed list, and never a zero."""
    world = World(direct_tier(engine="vllm"))
    world.script("", script)
    await world.run_until(trio.current_time() + 1.5)
    signal = world.sampler.signal(TIER, MemberId(""))
    assert (signal.observation, signal.reason) == (None, reason)
    assert signal.pressure == Pressure(Freshness.FAILED)
    assert world.told == []


async def test_a_direct_tier_is_read_like_any_other(autojump_clock):
    """A direct tier's numbers are kept for whoever looks; its actor is told nothing."""
    world = World(direct_tier(engine="vllm", max_concurrency=8))
    world.script("", page(running=3, waiting=1))
    await world.run_until(trio.current_time() + 0.5)
    signal = world.sampler.signal(TIER, MemberId(""))
    assert signal.observation is not None
    assert (signal.observation.requests_running, signal.observation.requests_waiting) == (3, 1)
    assert signal.pressure == Pressure(Freshness.FRESH, 500_000)
    assert world.told == []


async def test_nobody_reads_what_nobody_looks_at(autojump_clock):
    """Round-robin members and unknown engines are not asked, and the reason says so."""
    world = World(
        replica_tier(engine="vllm"),
        direct_tier("plain"),
        replica_tier("odd", ceiling=1, replica_strategy="capacity", engine="else"),
    )
    start = trio.current_time()
    await world.run_until(start + 6)
    assert all(engine.opened == 0 for engine in world.engines.values())
    for tier, member in world.engines:
        assert world.sampler.signal(tier, member).reason == "metrics_unsupported_engine"
    assert [(at - start, tier) for at, tier, _ in world.told] == [(0, "odd")]


@pytest.mark.parametrize(("engine", "query"), [("llamacpp", b"model=served-model"), ("vllm", b"")])
async def test_what_an_engine_is_asked(engine, query, autojump_clock):
    """The authority's `/metrics`, with the tier's key; llama.cpp is told the model."""
    world = World(direct_tier(engine=engine), keys={TIER: "k"})
    await world.run_until(trio.current_time() + 0.5)
    [call] = world.engine().calls_to("/metrics")
    assert call.request.url.raw_path == b"/metrics" + (b"?" + query if query else b"")
    assert call.request.headers["authorization"] == "Bearer k"


async def test_looking_reads_nothing(mock_clock):
    """A look at the cache asks no engine, however old the numbers are."""
    world = World(direct_tier(engine="vllm"))
    async with trio.open_nursery() as nursery:
        await nursery.start(world.sampler.run)
        await wait_all_tasks_blocked()
        for _ in range(100):
            world.sampler.signal(TIER, MemberId(""))
        await wait_all_tasks_blocked()
        assert world.reads() == 1
        nursery.cancel_scope.cancel()


async def test_a_reading_that_is_not_renewed_is_stale_after_5_s(autojump_clock):
    """Once nobody reads any more, age alone ends what was known."""
    world = World(capacity_tier("a", "b"))
    start = trio.current_time()
    await world.run_until(start + 0.5)
    await trio.sleep_until(start + 5)
    assert world.sampler.signal(TIER, MemberId("a")).pressure == Pressure(Freshness.FRESH, 0)
    await trio.sleep_until(math.nextafter(start + 5, math.inf))
    assert world.sampler.signal(TIER, MemberId("a")).pressure == Pressure(Freshness.STALE)
