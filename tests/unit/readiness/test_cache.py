"""What is known, what of it is news, and what comes too late to count."""

import pytest

from anvil_trio.facts import Readiness, Verdict
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.readiness.cache import ProbeCache
from anvil_trio.readiness.verdict import Finding

ONE, TWO = TierId("one"), TierId("two")
A, B = MemberId("a"), MemberId("b")
DIRECT = (TWO, DIRECT_MEMBER)
GOOD = Finding(Verdict(is_ready=True, reason="health_passed"))
BAD = Finding(Verdict(is_ready=False, reason="health_http_500"))
LATE = Finding(Verdict(is_ready=False, reason="health_transport"), is_timeout=True)


def fresh() -> ProbeCache:
    """A cache of one tier with two members and one direct tier; results count for 10 s."""
    return ProbeCache([(ONE, A), (ONE, B), DIRECT], failures=2, max_age_s=10.0)


def found(cache: ProbeCache, member: MemberId, finding: Finding, now: float = 0.0) -> None:
    """A probe of a member of the first tier that was not overtaken."""
    assert cache.settle((ONE, member), cache.generation((ONE, member)), finding, now)


def test_before_the_first_probe_nothing_is_known():
    """A member that was never probed is pending and was never checked."""
    assert fresh().verdict((ONE, A), 5.0) == Verdict(False, "probe_pending", None, None)


def test_a_tier_is_published_with_its_first_ready_member():
    """One ready member is enough to know something of a tier."""
    cache = fresh()
    found(cache, A, GOOD)
    assert cache.news(ONE, 0.0) == Readiness(1, frozenset({A}))


def test_a_tier_without_a_ready_member_is_published_when_all_were_heard():
    """Nothing is published while a member may still be the first to be ready."""
    cache = fresh()
    found(cache, A, BAD)
    assert cache.news(ONE, 0.0) is None
    found(cache, B, LATE)
    assert cache.news(ONE, 0.0) is None
    found(cache, B, LATE)
    assert cache.news(ONE, 0.0) == Readiness(1, frozenset())


def test_only_a_change_is_news_and_generations_rise():
    """The same set twice is published once."""
    cache = fresh()
    found(cache, A, GOOD)
    assert cache.news(ONE, 0.0) == Readiness(1, frozenset({A}))
    found(cache, A, GOOD, 1.0)
    found(cache, B, BAD, 1.0)
    assert cache.news(ONE, 1.0) is None
    found(cache, B, GOOD, 2.0)
    assert cache.news(ONE, 2.0) == Readiness(2, frozenset({A, B}))
    found(cache, A, BAD, 3.0)
    assert cache.news(ONE, 3.0) == Readiness(3, frozenset({B}))
    found(cache, B, BAD, 4.0)
    assert cache.news(ONE, 4.0) == Readiness(4, frozenset())


def test_a_probe_begun_before_an_invalidation_settles_nothing():
    """RACE-02, T003: its result is dropped, good or bad, and the member stays pending."""
    cache = fresh()
    begun = cache.generation((ONE, A))
    cache.invalidate((ONE, A))
    assert not cache.settle((ONE, A), begun, GOOD, 1.0)
    assert cache.verdict((ONE, A), 1.0).reason == "probe_pending"
    assert cache.settle((ONE, A), cache.generation((ONE, A)), BAD, 2.0)
    assert not cache.settle((ONE, A), begun, GOOD, 3.0)
    assert cache.verdict((ONE, A), 3.0).reason == "health_http_500"


def test_an_invalidation_forgets_the_timeouts_too():
    """After an invalidation timeouts are counted from the start."""
    cache = fresh()
    found(cache, A, LATE)
    cache.invalidate((ONE, A))
    found(cache, A, LATE)
    assert cache.verdict((ONE, A), 0.0).reason == "probe_pending"


def test_an_invalidation_touches_one_member_only():
    """The other members of the tier keep what is known of them."""
    cache = fresh()
    found(cache, A, GOOD)
    found(cache, B, GOOD)
    assert cache.news(ONE, 0.0) == Readiness(1, frozenset({A, B}))
    cache.invalidate((ONE, A))
    assert cache.news(ONE, 0.0) == Readiness(2, frozenset({B}))


def test_an_invalidated_direct_tier_has_its_own_reason():
    """The one member of a direct tier is then `probe_invalidated`."""
    cache = fresh()
    cache.invalidate(DIRECT)
    assert cache.verdict(DIRECT, 0.0).reason == "probe_invalidated"


def test_equal_member_ids_in_two_tiers_share_nothing():
    """R007: result, generation and invalidation belong to one (tier, member) pair."""
    cache = ProbeCache([(ONE, A), (TWO, A)], failures=2, max_age_s=10.0)
    assert cache.settle((ONE, A), cache.generation((ONE, A)), GOOD, 0.0)
    assert cache.verdict((TWO, A), 0.0).reason == "probe_pending"
    assert cache.settle((TWO, A), cache.generation((TWO, A)), GOOD, 0.0)
    cache.invalidate((ONE, A))
    assert cache.verdict((TWO, A), 0.0).is_ready
    assert cache.generation((TWO, A)) != cache.generation((ONE, A))


def test_a_result_that_grew_too_old_is_news():
    """An old good result makes its member ineligible, and that is published."""
    cache = fresh()
    found(cache, A, GOOD, 1.0)
    assert cache.news(ONE, 1.0) == Readiness(1, frozenset({A}))
    assert cache.news(ONE, 10.9) is None
    assert cache.news(ONE, 11.0) == Readiness(2, frozenset())
    assert cache.verdict((ONE, A), 11.0) == Verdict(False, "probe_pending", None, 1.0)


def test_the_next_expiry_is_the_oldest_result_that_still_counts():
    """Sleeping until the next expiry again and again misses none of them."""
    cache = fresh()
    assert cache.next_expiry(3.0) == 13.0
    found(cache, A, GOOD, 4.0)
    found(cache, B, BAD, 6.0)
    assert cache.next_expiry(7.0) == 14.0
    assert cache.next_expiry(14.0) == 16.0
    assert cache.next_expiry(16.0) == 26.0


def test_members_are_those_that_are_probed():
    """A tier that is not probed has no members here, and an unknown member is a bug."""
    cache = fresh()
    assert cache.members(ONE) == (A, B)
    assert cache.members(TierId("other")) == ()
    with pytest.raises(KeyError):
        cache.verdict((ONE, MemberId("c")), 0.0)
