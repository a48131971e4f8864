"""The tiers of one process by name: opened when a configuration has them, closed when none has."""

from collections.abc import Iterator, Mapping

from anvil_trio.actors.supervise import Actors
from anvil_trio.config.model import Tier
from anvil_trio.names import OwnerId, TierId
from anvil_trio.tiers.actor import TierActor, TierHandle
from anvil_trio.tiers.ranking import Strategy

__all__ = ["Tiers"]


class Tiers(Mapping[TierId, TierHandle]):
    """Each tier's handle, all of one owner. A view that changes only by `open` and `close`."""

    def __init__(self, actors: Actors, owner: OwnerId) -> None:
        self._actors, self._owner = actors, owner
        self._open: dict[TierId, tuple[TierActor, TierHandle]] = {}

    def __getitem__(self, tier_id: TierId) -> TierHandle:
        return self._open[tier_id][1]

    def __iter__(self) -> Iterator[TierId]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)

    def open(self, tier: Tier) -> TierHandle:
        """Start the tier's actor. Its handle may be used at once."""
        tier_id = TierId(tier.id)
        assert tier_id not in self._open, "a tier has one actor"
        actor = TierActor(
            tier_id, tier.member_ceilings, tier.ceiling, Strategy(tier.replica_strategy)
        )
        self._actors.start(actor)
        handle = actor.handle(self._owner)
        self._open[tier_id] = actor, handle
        return handle

    def close(self, tier_id: TierId) -> None:
        """End the actor of a tier at rest; whoever still asks its handle gets ActorStopped."""
        actor, _ = self._open.pop(tier_id)
        self._actors.stop(actor)
