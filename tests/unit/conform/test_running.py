"""A table of checks is run to its end, whatever one of them does."""

import trio

from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.running import Check, run_checks
from anvil_trio.conform.verdict import Outcome, Result, not_applicable, passed


async def test_every_check_has_its_result(autojump_clock):
    """A good one, one whose answer breaks the grammar, one without an end, one that is none."""
    seen = []

    async def good(subject):
        await trio.sleep(1)
        seen.append(subject)
        return passed("Good.", number=1)

    async def bad(_subject):
        raise GrammarError("it is bad")

    async def late(_subject):
        await trio.sleep_forever()

    async def none(_subject):
        return not_applicable("None.")

    checks = [
        Check("a", "A", good),
        Check("b", "B", bad),
        Check("c", "C", late),
        Check("d", "D", none),
    ]
    told: list[Result] = []
    results = await run_checks(checks, "it", limit_s=5, tell=told.append)
    assert [(one.name, one.verdict.outcome, one.verdict.reason) for one in results] == [
        ("a", Outcome.PASSED, "Good."),
        ("b", Outcome.FAILED, "It is bad."),
        ("c", Outcome.FAILED, "The check took too long."),
        ("d", Outcome.NOT_APPLICABLE, "None."),
    ]
    assert (told, seen) == ([*results], ["it"])
    assert trio.current_time() == autojump_clock.current_time()


async def test_a_check_that_is_in_time_is_not_cut(autojump_clock):
    """The limit is of each check and not of all."""

    async def slow(_subject):
        await trio.sleep(4)
        return passed("Good.")

    checks = [Check(f"{n}", "", slow) for n in range(3)]
    results = await run_checks(checks, None, limit_s=5, tell=lambda _result: None)
    assert all(one.verdict.outcome is Outcome.PASSED for one in results)
