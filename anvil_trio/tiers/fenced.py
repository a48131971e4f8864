"""What is left of a tier whose state raised: it refuses, swallows, and shows that it failed."""

from dataclasses import replace
from types import MappingProxyType

from anvil_trio.actors.messages import Inspect, RefusalReason, Refused
from anvil_trio.facts import TierPhase, TierSnapshot
from anvil_trio.tiers.messages import Acquire, Drain, TierMessage
from anvil_trio.tiers.state import Replies

__all__ = ["FencedTier"]


class FencedTier:
    """Answers every question with `tier_failed` until the process ends.

    Its counters are all zero and mean nothing: those of the state can no longer be trusted, and
    the leases still out are given back to nobody.
    """

    def __init__(self, last: TierSnapshot) -> None:
        self._snapshot = replace(
            last,
            phase=TierPhase.FAILED,
            active=0,
            waiting=0,
            is_draining=False,
            members=tuple(
                replace(member, active=0, is_draining=False, is_eligible=False)
                for member in last.members
            ),
            waiting_by_client=MappingProxyType({}),
        )

    def handle(self, message: TierMessage) -> Replies:
        """Refuse whoever asks; ignore whatever else is said."""
        match message:
            case Acquire(ticket) | Drain(ticket):
                return [(ticket, Refused(RefusalReason.TIER_FAILED))]
            case Inspect(ticket):
                return [(ticket, self._snapshot)]
            case _:
                return ()
