"""Bugs on purpose in the budgets of clients at the front door."""

from tests.support.mutants import Mutant

__all__ = ["BUDGET"]

DOOR_STATE = "anvil_trio.admission.state"
DOOR_ACTOR = "anvil_trio.admission.actor"

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
