"""The tests of the tests: every bug on purpose in the shipped source is found."""

import pytest

from tests.sim.exchange_mutants import EXCHANGE
from tests.sim.order_mutants import ORDERS
from tests.sim.purpose_mutants import PURPOSE
from tests.sim.realtime_mutants import REALTIME
from tests.sim.tier_mutants import TIER
from tests.support.mutants import kill

SUITES = (TIER, EXCHANGE, ORDERS, PURPOSE, REALTIME)
"""One suite for each part that is simulated; a new part adds its own."""

MOST_SEEDS = 2000
MUTANTS = [
    pytest.param(suite, mutant, id=f"{suite.name}: {mutant.name}")
    for suite in SUITES
    for mutant in suite.mutants
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("suite", "mutant"), MUTANTS)
def test_every_mutant_is_killed(suite, mutant, record_property):
    """A bug put into the source makes the simulation or the sweep fail within some seeds."""
    killed = kill(suite, mutant, MOST_SEEDS)
    assert killed is not None, "the mutant survived"
    line = f"{suite.name}: {mutant.name} -> seed {killed.seeds}, {killed.words}"
    record_property("killed", line)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_the_source_as_it_is_survives(suite):
    """What kills the mutants finds nothing in modules imported afresh and left unchanged."""
    assert kill(suite, None, 100) is None


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_mutants_have_names_of_their_own(suite):
    """Each mutant of a suite can be named, and run alone."""
    names = [mutant.name for mutant in suite.mutants]
    assert len(names) == len(set(names))
