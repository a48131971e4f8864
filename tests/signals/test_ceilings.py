"""The readers of auto ceilings on virtual time."""

import trio

from anvil_trio.names import TierId
from anvil_trio.signals.ceilings import CeilingReader
from anvil_trio.upstream.client import open_probe_client
from tests.support.fake_upstream import FakeUpstream, Fault, Reply, reply
from tests.support.small_house import TIER, config_of, direct_tier

MISSING = reply(b"{}", status=404)
HUNG = Reply((Fault.STALL,))


class World:
    """A reader over one auto tier and one with a ceiling of its own."""

    def __init__(self, **pages) -> None:
        config = config_of(direct_tier(max_concurrency="auto"), direct_tier("own"))
        engines = [FakeUpstream(chat_default=MISSING) for _ in config.tiers]
        self.auto, self.own = engines
        self.auto.pages = {f"/{name}": page for name, page in pages.items()}
        clients = {
            (TierId(tier.id), member_id): open_probe_client(engine, tier.base_url)
            for tier, engine in zip(config.tiers, engines, strict=True)
            for member_id in tier.member_ids
        }
        self.told: list[tuple[float, TierId, int]] = []
        self.reader = CeilingReader(config, clients, {TIER: "k"}, self._publish)

    async def run_for(self, seconds: float) -> list[tuple[float, int]]:
        """When each ceiling was told, from the start."""
        start = trio.current_time()
        with trio.move_on_after(seconds):
            await self.reader.run()
        assert self.own.opened == 0
        assert self.auto.opened == self.auto.closed
        assert {tier for _, tier, _ in self.told} <= {TIER}
        return [(at - start, places) for at, _, places in self.told]

    def _publish(self, tier_id: TierId, places: int) -> None:
        self.told.append((trio.current_time(), tier_id, places))

    def asked(self) -> list[str]:
        """The pages that were asked, in order."""
        return [call.request.url.path for call in self.auto.calls]


async def test_the_current_page_is_asked_first_and_suffices(autojump_clock):
    """With `/server_info` nothing else is asked; equal numbers are told once."""
    world = World(server_info=reply(b'{"max_running_requests":48}'))
    assert await world.run_for(6) == [(0, 48)]
    assert world.asked() == ["/server_info"] * 2
    assert world.auto.calls[0].request.headers["authorization"] == "Bearer k"


async def test_the_deprecated_page_is_the_fallback(autojump_clock):
    """An older SGLang still answers; a page without a number is passed over."""
    world = World(server_info=reply(b"{}"), get_server_info=reply(b'{"max_running_requests":7}'))
    assert await world.run_for(1) == [(0, 7)]
    assert world.asked() == ["/server_info", "/get_server_info"]


async def test_llamacpp_says_it_on_its_own_page(autojump_clock):
    """With both of SGLang's pages missing `/props` is asked."""
    world = World(props=reply(b'{"total_slots":2}'))
    assert await world.run_for(1) == [(0, 2)]
    assert world.asked() == ["/server_info", "/get_server_info", "/props"]


async def test_a_change_is_told_and_a_silence_is_not(autojump_clock):
    """An engine that was started anew is heard; one that hangs or says nothing keeps its number."""
    answers = [reply(b'{"max_num_seqs":4}'), HUNG, reply(b"{"), reply(b'{"max_num_seqs":8}')]
    world = World(server_info=lambda number: answers[min(number, 3)])
    assert await world.run_for(16) == [(0, 4), (15, 8)]


async def test_an_engine_that_never_says_it_leaves_the_tier_open(autojump_clock):
    """Nothing is told, and the asking goes on at the probes' interval."""
    world = World()
    assert await world.run_for(11) == []
    assert len(world.asked()) == 9
