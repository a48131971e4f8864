"""Where every operation on serves begins: guarded first, then locked, then carried out (T012).

The guard is asked before anything is looked at that could answer or be changed: no lock, no
journal, no event, no process, no container and no router is touched for what it refuses.
"""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.config.problems import ConfigError
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.events import Events
from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.files import Captured, capture
from anvil_trio.lifecycle.guard import LifecycleRefusal, check_lifecycle
from anvil_trio.lifecycle.journal import Journal
from anvil_trio.lifecycle.model import Manifest
from anvil_trio.lifecycle.orders import RouterOrders
from anvil_trio.lifecycle.plans import keeps_replicas
from anvil_trio.lifecycle.store import OperationStore
from anvil_trio.lifecycle.switch import Switch
from anvil_trio.names import TierId

__all__ = ["Desk", "guard"]


def guard(affected: Collection[str], *configs: RouterConfig | None) -> None:
    """Raise LifecycleFailed unless the tiers are known to be direct in each configuration."""
    refusal = check_lifecycle([TierId(tier) for tier in affected], *configs)
    if refusal is not None:
        raise LifecycleFailed(refusal)


@dataclass(frozen=True, slots=True)
class Desk:
    """One operator's serves, and whatever an operation on them may touch.

    `active` is what the router's own file, at `live_config`, held when the command began.
    """

    manifest: Manifest
    folder: Path
    engines: Engines
    store: OperationStore
    lock: Callable[[], AbstractContextManager[None]]
    events: Events
    router: RouterOrders
    live_config: Path
    active: Captured

    def capture(self, name: str) -> Captured:
        """A router's configuration that the manifest names, read once."""
        return capture(self.folder / name)

    def guard_install(self, tiers: Collection[str], *configs: Captured) -> None:
        """The guard for an operation that puts one of `configs` to work."""
        parsed = [each.config for each in configs]
        guard(tiers, *parsed)
        if not all(each is None or keeps_replicas(self.active.config, each) for each in parsed):
            raise LifecycleFailed(LifecycleRefusal.UNSUPPORTED)

    def switch(self, *, is_routed: bool) -> Switch:
        """What walks an operation; the router is left alone if no tier is concerned."""
        return Switch(
            store=self.store,
            engines=self.engines,
            router=self.router if is_routed else None,
            live_config=self.live_config,
            folder=self.folder,
            check=self.check,
        )

    def check(self, journal: Journal) -> None:
        """The guard, once more, for an operation that was written down: by the bytes it holds."""
        sides = (journal.target, journal.rollback)
        tiers = {tier for side in sides for tier in (*side.closes, *side.opens)}
        digests = [side.config_sha256 for side in sides if side.config_sha256 is not None]
        configs = [self._stored(journal, digest) for digest in digests]
        if journal.kind == "promotion":
            guard(tiers, *configs)
            return
        guard(tiers, self.active.config)
        target = self.manifest.serve(journal.name)
        if configs and target is not None:
            guard([target.router_tier], *configs)

    def _stored(self, journal: Journal, digest: str) -> RouterConfig | None:
        data = self.store.config(journal, digest)
        try:
            return None if data is None else parse_config(data)
        except ConfigError:
            return None
