"""Bugs on purpose at the front door: its permits, and the budgets of its clients."""

from tests.support.mutants import Mutant

__all__ = ["DOOR"]

DOOR_STATE = "anvil_trio.admission.state"
DOOR_ACTOR = "anvil_trio.admission.actor"

PERMIT = (
    Mutant(
        "permit above the limit",
        DOOR_STATE,
        "len(self._permits) >= self",
        "len(self._permits) > self",
    ),
    Mutant(
        "permit kept by its client",
        DOOR_STATE,
        "                self._leave(self._permits.give_back(ticket))",
        "                self._permits.give_back(ticket)",
    ),
    Mutant(
        "permit not counted for its client",
        DOOR_STATE,
        "        self._active[client_id] = active + 1\n",
        "        self._active[client_id] = 1\n",
    ),
    Mutant(
        "an await between the permit and its block",
        DOOR_ACTOR,
        "            return Permit(ticket,",
        "            import trio\n"
        "            await trio.lowlevel.checkpoint()\n"
        "            return Permit(ticket,",
    ),
)

BUDGET = (
    Mutant("budget not looked at", DOOR_STATE, "if budget is not None and", "if False and"),
    Mutant(
        "budget off by one",
        DOOR_STATE,
        "active >= budget",
        "active > budget",
    ),
    Mutant(
        "budget counts everybody",
        DOOR_STATE,
        "active >= budget",
        "len(self._permits) >= budget",
    ),
    Mutant(
        "budget kept by a client that left",
        DOOR_STATE,
        "        self._active[client_id] -= 1\n        if not",
        "        if not",
    ),
    Mutant(
        "budget of whoever comes first",
        DOOR_STATE,
        "self._budgets.get(client_id)",
        "min(self._budgets.values(), default=None)",
    ),
    Mutant(
        "budget charged for a refusal",
        DOOR_STATE,
        "            return Refused(RefusalReason.CLIENT_BUSY)",
        "            self._active[client_id] = active + 1\n"
        "            return Refused(RefusalReason.CLIENT_BUSY)",
    ),
    Mutant(
        "budget never reaches the state",
        DOOR_ACTOR,
        "AdmissionState(max_concurrency, budgets)",
        "AdmissionState(max_concurrency)",
    ),
)

DOOR = (*PERMIT, *BUDGET)
