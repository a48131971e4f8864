"""The tier as the rest of the program meets it: a handle to ask, an actor behind it."""

from collections.abc import Mapping
from types import MappingProxyType

from anvil_trio.actors.actor import Actor
from anvil_trio.actors.caller import Caller
from anvil_trio.actors.mailbox import Mailbox
from anvil_trio.actors.messages import Inspect, OwnerGone, Refused
from anvil_trio.facts import Pressure, Readiness, TierSnapshot
from anvil_trio.names import ClientId, MemberId, OwnerId, SessionId, TierId
from anvil_trio.tiers.fenced import FencedTier
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.messages import (
    Acquire,
    Drain,
    Drained,
    Granted,
    Reconfigure,
    SetQuiesced,
    SetReadiness,
    SetSignals,
    TierMessage,
    TierReply,
)
from anvil_trio.tiers.ranking import Strategy
from anvil_trio.tiers.state import TierState

__all__ = ["TierActor", "TierHandle"]


class TierHandle:
    """What others hold of a tier. One handle is one owner; any task may use it.

    Questions raise ActorStopped once the tier's actor has ended. What is told one way takes
    effect before whatever this handle asks afterwards, and is dropped once the actor has ended.
    """

    def __init__(self, tier_id: TierId, caller: Caller[TierMessage, TierReply]) -> None:
        self.tier_id = tier_id
        self._caller = caller

    async def acquire(
        self, client_id: ClientId, session_id: SessionId | None = None
    ) -> Lease | Refused:
        """Reserve one member, or say why not; the caller's cancel scope is the deadline.

        Waits only while the tier is open, some member is ready and admitting, and every such
        member or the tier is at its ceiling; and at start-up, until readiness is first known. If
        cancelled while waiting, nothing is reserved and the cursor has not moved; once granted,
        the lease is returned, cancelled or not: enter it before the next `await`.

        A `session_id` asks for the session's own member wherever the tier's order sees no
        difference between members; it never waits for one.
        """
        ticket = next(self._caller.tickets)
        reply = await self._caller.ask(ticket, Acquire(ticket, client_id, session_id))
        if isinstance(reply, Granted):
            return Lease(ticket, self._caller.tell, reply.member_id, reply.schedule)
        assert isinstance(reply, Refused)
        return reply

    async def inspect(self) -> TierSnapshot:
        """The tier's counters at one moment after everything this handle has told it."""
        ticket = next(self._caller.tickets)
        reply = await self._caller.ask(ticket, Inspect(ticket))
        assert isinstance(reply, TierSnapshot)
        return reply

    async def drain(self, member_id: MemberId | None = None) -> Drained | Refused:
        """Wait until no lease is left in the tier, or on one member; the scope is the deadline.

        Refused at once, or as soon as it is readmitted, if what is drained is not quiesced. Many
        may wait. If cancelled, only the waiting ends: the tier stays quiesced.
        """
        ticket = next(self._caller.tickets)
        reply = await self._caller.ask(ticket, Drain(ticket, member_id))
        assert isinstance(reply, Drained | Refused)
        return reply

    def set_readiness(self, readiness: Readiness) -> None:
        """Publish which members may take new work; never touches a lease (R011)."""
        self._caller.tell(SetReadiness(readiness))

    def set_signals(self, pressures: Mapping[MemberId, Pressure]) -> None:
        """Publish what the members' engines say of their load; only the order heeds it."""
        self._caller.tell(SetSignals(MappingProxyType(dict(pressures))))

    def set_quiesced(self, is_quiesced: bool, *, member_id: MemberId | None = None) -> None:  # noqa: FBT001 - reads as a sentence: set_quiesced(True)
        """Stop new leases (True) or readmit (False), for the tier or for one member.

        All who wait are refused in the step in which the tier hears it (R011).
        """
        self._caller.tell(SetQuiesced(is_quiesced, member_id))

    def reconfigure(
        self,
        members: Mapping[MemberId, int | None],
        ceiling: int | None,
        strategy: Strategy | None = None,
        readiness: Readiness | None = None,
    ) -> None:
        """Change members, ceilings and, if one is named, the strategy; live leases stay.

        What `readiness` says of the new members is heard in the same step.
        """
        kept = MappingProxyType(dict(members))
        self._caller.tell(Reconfigure(kept, ceiling, strategy, readiness))

    def owner_gone(self, owner: OwnerId) -> None:
        """Give back all that another owner held; whoever still asks for it gets ActorStopped."""
        self._caller.tell(OwnerGone(owner))


class TierActor(Actor[TierMessage, TierReply]):
    """The one task that owns a tier's state."""

    def __init__(
        self,
        tier_id: TierId,
        members: Mapping[MemberId, int | None],
        ceiling: int | None,
        strategy: Strategy = Strategy.ROUND_ROBIN,
    ) -> None:
        mailbox: Mailbox[TierMessage] = Mailbox()
        state = TierState(tier_id, members, ceiling, mailbox.withdrawn, strategy)
        super().__init__(tier_id, mailbox, state, lambda: FencedTier(state.snapshot()))
        self.tier_id = tier_id

    def handle(self, owner: OwnerId) -> TierHandle:
        """A handle for an owner that has none yet."""
        return TierHandle(self.tier_id, self.caller(owner, Granted))
