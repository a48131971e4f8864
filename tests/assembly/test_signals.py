"""A generation reads its engines' metrics and tells the tiers; requests pay for none of it."""

import trio

from anvil_trio.assembly import open_generation, open_house
from anvil_trio.config.secrets import Secrets
from anvil_trio.names import LEGACY_CLIENT, MemberId, TierId
from anvil_trio.tiers.lease import Lease
from tests.support.fake_upstream import FakeUpstream, Fault, Reply, reply
from tests.support.small_house import TIER, config_of, replica_tier

A, B = MemberId("a"), MemberId("b")
BUSY = reply(b"vllm:num_requests_running 2\nvllm:num_requests_waiting 0\n")
HUNG = Reply((Fault.STALL,))


class Engines:
    """Makes one fake engine per base URL; each has the metrics page that its URL calls for."""

    def __init__(self, **pages: Reply) -> None:
        self.pages = pages
        self.made: dict[str, FakeUpstream] = {}

    def __call__(self, base_url: str, *, keepalive_s: float) -> FakeUpstream:
        member = base_url.removeprefix("http://primary-")[0]
        self.made[member] = FakeUpstream(pages={"/metrics": self.pages[member]})
        return self.made[member]


async def test_a_hung_metrics_endpoint_delays_no_request(autojump_clock):
    """One engine's metrics hang: leases are had at once, and the other engine is ranked by."""
    tier = replica_tier(ceiling=4, replica_strategy="capacity", engine="vllm")
    config, engines = config_of(tier), Engines(a=HUNG, b=BUSY)
    async with (
        open_house(config) as house,
        open_generation(house, config, Secrets({}), engines) as generation,
    ):
        await trio.sleep(0.5)
        before = trio.current_time()
        got = await house.tiers[TIER].acquire(LEGACY_CLIENT)
        assert isinstance(got, Lease)
        with got as lease:
            assert lease.member_id == B
            assert lease.schedule is not None
            assert [one.freshness for one in lease.schedule.scores] == ["unknown", "fresh"]
        assert trio.current_time() == before
        assert generation.signal_of(TIER, B).pressure.ppm == 500_000
        assert generation.signal_of(TierId("else"), A).reason == "metrics_unsupported_engine"
