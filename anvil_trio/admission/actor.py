"""The front door as the rest of the program meets it: a handle to ask, one actor behind it."""

from collections.abc import Mapping
from types import MappingProxyType

from anvil_trio.actors.actor import Actor
from anvil_trio.actors.caller import Caller
from anvil_trio.actors.mailbox import Mailbox
from anvil_trio.actors.messages import Inspect, Refused, Release
from anvil_trio.actors.supervise import Actors
from anvil_trio.admission.messages import (
    AdmissionMessage,
    AdmissionReply,
    AdmissionSnapshot,
    Admitted,
    Enter,
)
from anvil_trio.admission.permit import Permit
from anvil_trio.admission.state import AdmissionState, FencedAdmission
from anvil_trio.names import ClientId, OwnerId

__all__ = ["AdmissionActor", "AdmissionHandle", "open_admission"]


class AdmissionHandle:
    """What others hold of the front door. One handle is one owner; any task may use it.

    Questions raise ActorStopped once the actor has ended. Nobody ever waits at the door, so while
    its actor has nothing to read it answers in the step of whoever asks, if it `is_hasty`.
    """

    def __init__(
        self, caller: Caller[AdmissionMessage, AdmissionReply], actor: "AdmissionActor"
    ) -> None:
        self._caller, self._actor = caller, actor

    async def enter(self, client_id: ClientId) -> Permit | Refused:
        """One permit, or why not: CLIENT_BUSY or SERVER_BUSY; never waits for a place.

        If cancelled before the answer, nothing is held; once admitted, the permit is returned,
        cancelled or not: enter it before the next `await`.
        """
        ticket = next(self._caller.tickets)
        question = Enter(ticket, client_id)
        answers = self._actor.act_now(question) if self._actor.is_hasty else None
        if answers is None:
            reply = await self._caller.ask(ticket, question)
        else:
            [(_, reply)] = answers
        if isinstance(reply, Admitted):
            return Permit(ticket, self._give_back)
        assert isinstance(reply, Refused)
        return reply

    def _give_back(self, release: Release) -> None:
        if not self._actor.is_hasty or self._actor.act_now(release) is None:
            self._caller.tell(release)

    async def inspect(self) -> AdmissionSnapshot:
        """Who is inside at one moment."""
        ticket = next(self._caller.tickets)
        reply = await self._caller.ask(ticket, Inspect(ticket))
        assert isinstance(reply, AdmissionSnapshot)
        return reply


_NO_BUDGETS: Mapping[ClientId, int] = MappingProxyType({})


class AdmissionActor(Actor[AdmissionMessage, AdmissionReply]):
    """The one task that owns the front door's state."""

    def __init__(
        self,
        max_concurrency: int,
        budgets: Mapping[ClientId, int] = _NO_BUDGETS,
        *,
        name: str = "admission",
        is_hasty: bool = True,
    ) -> None:
        self.is_hasty = is_hasty
        mailbox: Mailbox[AdmissionMessage] = Mailbox()
        state = AdmissionState(max_concurrency, budgets)
        super().__init__(name, mailbox, state, lambda: FencedAdmission(state.snapshot()))

    def handle(self, owner: OwnerId) -> AdmissionHandle:
        """A handle for an owner that has none yet."""
        return AdmissionHandle(self.caller(owner, Admitted), self)


def open_admission(
    actors: Actors,
    max_concurrency: int,
    owner: OwnerId,
    budgets: Mapping[ClientId, int] = _NO_BUDGETS,
    *,
    name: str = "admission",
    is_hasty: bool = True,
) -> AdmissionHandle:
    """Start the actor of a door and give its owner's handle. It may be used at once.

    A client of `budgets` has at most so many permits; any other has what `max_concurrency` leaves.
    `name` tells the front door from others where a crash is told; one that is not `is_hasty` is
    always asked by message.
    """
    actor = AdmissionActor(max_concurrency, budgets, name=name, is_hasty=is_hasty)
    actors.start(actor)
    return actor.handle(owner)
