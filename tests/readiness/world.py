"""A few tiers with scripted engines, a prober over them, and what it published."""

from collections.abc import Iterable

import trio

from anvil_trio.config.model import (
    ReplicaIdentity,
    ReplicaMember,
    RouterConfig,
    RouterSettings,
    Tier,
)
from anvil_trio.facts import Readiness, Verdict
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.readiness.cache import Key
from anvil_trio.readiness.prober import Prober
from anvil_trio.upstream.client import open_probe_client
from tests.support.fake_upstream import FakeUpstream

__all__ = ["MODEL", "World", "direct", "replicas"]

MODEL = "served-model"

_IDENTITY = ReplicaIdentity(
    model_revision="r1",
    engine_version="1",
    image_digest="sha256:" + "0" * 64,
    config_fingerprint="sha256:" + "1" * 64,
)


def replicas(tier_id: str, *members: str) -> Tier:
    """A replica tier whose members are asked for health and identity."""
    return Tier(
        id=tier_id,
        auth_env="KEY",
        model=MODEL,
        model_identity=True,
        health_path="/health",
        replicas=tuple(
            ReplicaMember(
                id=member,
                base_url=f"http://{tier_id}-{member}.test/v1",
                host_id="host",
                resource_id=f"resource-{member}",
                qualification_ref="q",
            )
            for member in members
        ),
        replica_identity=_IDENTITY,
    )


def direct(tier_id: str, *, health_path: str | None = None, model_identity: bool = False) -> Tier:
    """A direct tier, probed as far as the arguments say."""
    return Tier(
        id=tier_id,
        auth_env="KEY",
        model=MODEL,
        base_url=f"http://{tier_id}.test",
        health_path=health_path,
        model_identity=model_identity,
    )


class World:
    """A prober of these tiers; every member's engine is healthy until a test says otherwise.

    By default probes are 5 s apart, a call takes at most 1 s and two timeouts in a row count, so
    that a result counts for 14 s.
    """

    def __init__(
        self,
        *tiers: Tier,
        settings: RouterSettings | None = None,
        keys: dict[TierId, str | None] | None = None,
    ) -> None:
        config = RouterConfig(tiers=tiers, routes={}, router=settings or RouterSettings())
        self.engines: dict[Key, FakeUpstream] = {
            (TierId(tier.id), member_id): FakeUpstream(model=MODEL)
            for tier in tiers
            for member_id in tier.member_ids
        }
        clients = {
            key: open_probe_client(engine, config.tier(key[0]).endpoint_of(key[1]))
            for key, engine in self.engines.items()
        }
        self.published: dict[TierId, list[tuple[float, Readiness]]] = {}
        self.changes: list[tuple[TierId, MemberId, Verdict]] = []
        self.ended: list[tuple[TierId, MemberId, bool]] = []
        self.prober = Prober(
            config, clients, keys or {}, self._publish, self._notify, self._observe
        )

    def engine(self, tier_id: str, member_id: str = DIRECT_MEMBER) -> FakeUpstream:
        """The engine of one member."""
        return self.engines[TierId(tier_id), MemberId(member_id)]

    def reason(self, tier_id: str, member_id: str = DIRECT_MEMBER) -> str:
        """What the prober says of one member now."""
        return self.prober.verdict(TierId(tier_id), MemberId(member_id)).reason

    def eligible(self, tier_id: str) -> list[tuple[float, set[str]]]:
        """When each set of eligible members was published."""
        told = self.published.get(TierId(tier_id), [])
        return [(at, set(readiness.eligible)) for at, readiness in told]

    def reasons(self, tier_id: str, member_id: str = DIRECT_MEMBER) -> Iterable[str]:
        """Every verdict that was told of one member, in order."""
        return [
            verdict.reason
            for tier, member, verdict in self.changes
            if (tier, member) == (tier_id, member_id)
        ]

    async def run_until(self, at: float) -> None:
        """Probe from now until that moment, then stop; nothing may be left open."""
        with trio.move_on_at(at):
            await self.prober.run()
        assert all(engine.opened == engine.closed for engine in self.engines.values())

    def _publish(self, tier_id: TierId, readiness: Readiness) -> None:
        told = self.published.setdefault(tier_id, [])
        assert not told or told[-1][1].generation < readiness.generation
        told.append((trio.current_time(), readiness))

    def _observe(self, member: Key, is_ready: bool) -> None:
        self.ended.append((*member, is_ready))

    def _notify(self, member: Key, verdict: Verdict) -> None:
        tier_id, member_id = member
        self.changes.append((tier_id, member_id, verdict))
