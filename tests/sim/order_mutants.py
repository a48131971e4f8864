"""Bugs on purpose in the carrying out of an operator's orders."""

from tests.support.mutants import Mutant, Suite

__all__ = ["ORDERS"]

DESK = "anvil_trio.transition.desk"
KEEPER = "anvil_trio.intent.keeper"

TELL = "        self._handle.set_quiesced(is_quiesced, member_id=self._member_id)\n"

ORDERS = Suite(
    name="orders",
    hunt="tests.sim.order_hunt",
    packages=(
        "anvil_trio.intent",
        "anvil_trio.transition",
        "anvil_trio.exchange",
        "anvil_trio.views.transition",
        "tests.support.small_house",
        "tests.sim.books",
        "tests.sim.disk",
        "tests.sim.operator",
        "tests.sim.exchange_scenario",
        "tests.sim.order_sweep",
    ),
    mutants=(
        Mutant(
            "an await between the file and the tier",
            DESK,
            TELL,
            "        await trio.lowlevel.checkpoint()\n" + TELL,
        ),
        Mutant("the tier is not told", DESK, TELL, ""),
        Mutant(
            "the tier is told of a whole quiesce",
            DESK,
            "member_id=self._member_id)\n        if before",
            "member_id=None)\n        if before",
        ),
        Mutant("the place of a change is kept", DESK, "    with got:\n", "    if got:\n"),
        Mutant(
            "true before it is saved",
            KEEPER,
            "            if self._save is not None and not await self._save(intents):\n"
            "                return False\n"
            "            self.current = intents\n",
            "            self.current = intents\n"
            "            return self._save is None or await self._save(intents)\n",
        ),
        Mutant("never true", KEEPER, "            self.current = intents\n", ""),
        Mutant(
            "two changes at once",
            DESK,
            "(management.drains if is_drain else management.changes)",
            "(management.drains if is_drain else management.places)",
        ),
    ),
)
