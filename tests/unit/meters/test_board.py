from anvil_trio.config.model import RouterConfig
from anvil_trio.decisions.words import AttemptReason
from anvil_trio.meters.board import ATTEMPT_WORDS, DISCONNECTED, NO_TIER, STALLED, Meters
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from tests.unit.views.samples import DIRECT, REPLICA, A, B, config

FIXED = {("unknown_model", NO_TIER), ("unparsed", NO_TIER)}


def covered(*configs: RouterConfig) -> Meters:
    """The board of a process that has had these configurations."""
    meters = Meters(["server_busy"])
    for one in configs:
        meters.cover(one)
    return meters


def test_every_set_is_made_from_the_configuration():
    """R012: the keys are the configured aliases, tiers and members, and two fixed words."""
    meters = covered(config())
    aliases = {("llm.primary", REPLICA), ("chat", DIRECT), ("llm.again", REPLICA)}
    assert set(meters.routes) == FIXED | aliases
    assert set(meters.waits) == {REPLICA, DIRECT}
    assert set(meters.members) == {(REPLICA, A), (REPLICA, B), (DIRECT, DIRECT_MEMBER)}


def test_the_words_of_a_set_are_closed():
    """Every word that may be counted has its number before anything happens."""
    meters = covered(config())
    route, member = meters.routes["chat", DIRECT], meters.members[REPLICA, A]
    assert list(route.refusals) == ["server_busy"]
    assert list(route.left) == [DISCONNECTED, STALLED]
    assert list(member.attempts) == [word.value for word in ATTEMPT_WORDS]
    assert list(member.attempts) == [word.value for word in list(AttemptReason)[:5]]


def test_what_is_counted_outlives_a_change_of_configuration():
    """A set stays the same object, also when its alias or member is no longer configured."""
    meters = covered(config())
    meters.routes["chat", DIRECT].requests["success"].value += 1
    before = (dict(meters.routes), dict(meters.waits), dict(meters.members))
    smaller = config().model_copy(update={"routes": {"chat": DIRECT}, "tiers": config().tiers[1:]})
    meters.cover(smaller)
    assert (dict(meters.routes), dict(meters.waits), dict(meters.members)) == before
    assert meters.routes["chat", DIRECT].requests["success"].value == 1


def test_an_alias_that_moves_to_another_tier_is_counted_anew():
    """One series never mixes two tiers."""
    moved = config().model_copy(update={"routes": {"chat": REPLICA, "direct": DIRECT}})
    meters = covered(config(), moved)
    old, new = meters.routes["chat", DIRECT], meters.routes["chat", REPLICA]
    assert old is not new


def test_probes_that_fail_are_counted_and_others_not():
    """Only the member that was asked, and only its failures."""
    meters = covered(config())
    meters.probed(REPLICA, A, is_ready=False)
    meters.probed(REPLICA, A, is_ready=True)
    meters.probed(TierId(REPLICA), MemberId("member-b"), is_ready=True)
    assert meters.members[REPLICA, A].probe_failures.value == 1
    assert meters.members[REPLICA, B].probe_failures.value == 0
