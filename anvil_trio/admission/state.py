"""The front door's state: how many requests are inside, and whose. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from anvil_trio.actors.ledger import Ledger
from anvil_trio.actors.messages import (
    Inspect,
    OwnerGone,
    RefusalReason,
    Refused,
    Release,
    Ticket,
)
from anvil_trio.admission.messages import (
    AdmissionMessage,
    AdmissionReply,
    AdmissionSnapshot,
    Admitted,
    Enter,
)
from anvil_trio.names import ClientId

__all__ = ["AdmissionState", "FencedAdmission"]

Replies = Sequence[tuple[Ticket, AdmissionReply]]


class AdmissionState:
    """Who is inside. Nobody ever waits here: every `Enter` is answered in its own step.

    After every message the clients' counts sum to the number of permits. No admission takes them
    above the limit, nor a client that has a budget above it; a budget reserves nothing.
    """

    def __init__(
        self, max_concurrency: int, budgets: Mapping[ClientId, int] = MappingProxyType({})
    ) -> None:
        assert all(limit > 0 for limit in (max_concurrency, *budgets.values())), (
            "limits are positive"
        )
        self._max_concurrency = max_concurrency
        self._budgets = budgets
        self._permits: Ledger[ClientId] = Ledger()
        self._active: dict[ClientId, int] = {}  # nobody with none

    def handle(self, message: AdmissionMessage) -> Replies:
        """Take one message; the answer that is due now. Completes, or raises unchanged."""
        if self._permits.gone and self._permits.ignores(message):
            return ()
        match message:
            case Enter(ticket, client_id):
                return [(ticket, self._enter(ticket, client_id))]
            case Release(ticket):
                self._leave(self._permits.give_back(ticket))
            case OwnerGone(owner):
                for client_id in self._permits.bury(owner):
                    self._leave(client_id)
            case Inspect(ticket):
                return [(ticket, self.snapshot())]
            case _:
                pass  # Withdraw: its Enter was answered already; a grant that met nobody comes back
        return ()

    def snapshot(self) -> AdmissionSnapshot:
        """The counters at this moment."""
        return AdmissionSnapshot(
            active=len(self._permits),
            max_concurrency=self._max_concurrency,
            active_by_client=MappingProxyType(dict(self._active)),
        )

    def _enter(self, ticket: Ticket, client_id: ClientId) -> Admitted | Refused:
        # The client's own budget comes first: how full the house is must not change what it is told
        # of itself.
        budget = self._budgets.get(client_id)
        active = self._active.get(client_id, 0)
        if budget is not None and active >= budget:
            return Refused(RefusalReason.CLIENT_BUSY)
        if len(self._permits) >= self._max_concurrency:
            return Refused(RefusalReason.SERVER_BUSY)
        self._permits.hold(ticket, client_id)
        self._active[client_id] = active + 1
        return Admitted()

    def _leave(self, client_id: ClientId) -> None:
        self._active[client_id] -= 1
        if not self._active[client_id]:
            del self._active[client_id]


class FencedAdmission:
    """What is left of a front door whose state raised: it lets nobody in."""

    def __init__(self, last: AdmissionSnapshot) -> None:
        self._snapshot = AdmissionSnapshot(0, last.max_concurrency, is_failed=True)

    def handle(self, message: AdmissionMessage) -> Replies:
        """Refuse whoever asks; ignore whatever else is said."""
        match message:
            case Enter(ticket):
                return [(ticket, Refused(RefusalReason.ADMISSION_FAILED))]
            case Inspect(ticket):
                return [(ticket, self._snapshot)]
            case _:
                return ()
