"""The capacity strategy and the session tie-break, against slow and obvious references."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.facts import Freshness, MemberScore, Pressure
from anvil_trio.names import MemberId, SessionId
from anvil_trio.tiers import members as members_module
from anvil_trio.tiers.affinity import home_of
from anvil_trio.tiers.messages import Reconfigure
from anvil_trio.tiers.ranking import Candidate, Strategy, emptiest, round_robin, score
from tests.unit.tiers.desk import Desk

NAMES = st.sampled_from([MemberId(name) for name in "abcdefgh"])
FRESH = Freshness.FRESH


@st.composite
def states(draw) -> tuple[MemberId | None, list[Candidate]]:
    """A cursor and some members with room, equal and unequal ones among them."""
    names = sorted(draw(st.sets(NAMES, min_size=1)))
    pressures = st.one_of(
        st.sampled_from([0, 1, 500_000, 2_000_000]).map(lambda ppm: Pressure(FRESH, ppm)),
        st.sampled_from([Freshness.STALE, Freshness.FAILED, Freshness.UNKNOWN]).map(Pressure),
    )
    found = []
    for name in names:
        ceiling = draw(st.none() | st.sampled_from([1, 2, 3, 6, 100_000]) | st.integers(1, 100_000))
        most = 100_000 if ceiling is None else ceiling - 1
        active = draw(st.integers(0, min(most, 3)) | st.integers(0, most))
        found.append(Candidate(name, active, ceiling, draw(pressures)))
    return draw(st.none() | NAMES), found


def plain_key(one: Candidate) -> tuple[Fraction, bool, int | None]:
    """The order in words: exact share, then known before unknown, then the smaller pressure."""
    share = Fraction(0) if one.ceiling is None else Fraction(one.active, one.ceiling)
    is_known = one.pressure.freshness is FRESH
    return share, not is_known, one.pressure.ppm if is_known else 0


@given(states())
def test_the_order_is_that_of_a_plain_sort(state):
    """The emptiest members are those that a sort by exact fractions puts first, in turn."""
    cursor, candidates = state
    turn = round_robin(cursor, [one.member_id for one in candidates])
    least = min(map(plain_key, candidates))
    expected = [
        name
        for name in turn
        if plain_key(next(c for c in candidates if c.member_id == name)) == least
    ]
    assert [one.member_id for one in emptiest(score(turn, candidates))] == expected


def take(desk, times):
    """The counts after each of so many acquires without a release."""
    counts = []
    for _ in range(times):
        assert desk.took() in "ab"
        counts.append({one.member_id: one.active for one in desk.look().members})
    return counts


def assert_shares_are_exact(counts):
    """Each member has its exact share of the total, to less than one."""
    for number, count in enumerate(counts, start=1):
        assert abs(count["a"] - Fraction(number * 300, 400)) < 1
        assert abs(count["b"] - Fraction(number * 100, 400)) < 1


def test_members_of_300_and_100_fill_in_proportion():
    """After each of 400 acquires the counts differ from the exact shares by less than one."""
    counts = take(Desk({"a": 300, "b": 100}, strategy="capacity"), 400)
    assert_shares_are_exact(counts)
    assert counts[-1] == {"a": 300, "b": 100}


def test_a_mutant_that_compares_counts_is_killed(monkeypatch):
    """Ranking by raw counts instead of ratios breaks the exact shares."""

    def by_count(scores):
        return sorted(scores, key=lambda one: (one.local_numerator, one.rotating_rank))

    monkeypatch.setattr(members_module, "emptiest", by_count)
    counts = take(Desk({"a": 300, "b": 100}, strategy="capacity"), 400)
    with pytest.raises(AssertionError):
        assert_shares_are_exact(counts)


def test_4000_random_steps_pick_as_the_reference_and_pass_no_ceiling():
    """Whatever is acquired and released, each pick is the plain sort's, and nobody is overfull."""
    lots = random.Random(20261130)
    ceilings = {"a": 300, "b": 100, "c": 7, "d": 1}
    desk = Desk(ceilings, strategy="capacity")
    held: list[tuple[int, str]] = []
    pressures: dict[str, int | None] = {}
    cursor = ""
    for _ in range(4_000):
        if lots.random() < 0.05:
            pressures = {
                name: lots.choice([None, 0, 500_000, 900_000])
                for name in lots.sample("abcd", lots.randint(0, 4))
            }
            desk.signals(**pressures)
        if held and lots.random() < 0.47:
            number, _ = held.pop(lots.randrange(len(held)))
            desk.release(number)
            continue
        active = {name: sum(member == name for _, member in held) for name in ceilings}
        free = [name for name in ceilings if active[name] < ceilings[name]]
        expected = min(
            free,
            key=lambda name: (
                Fraction(active[name], ceilings[name]),
                pressures.get(name) is None,
                pressures.get(name) or 0,
                name <= cursor,
                name,
            ),
        )
        number = desk.acquire()
        assert desk.answers[number] == expected
        held.append((number, cursor := expected))
        assert all(one.active <= (one.max_concurrency or 0) for one in desk.look().members)


def test_a_burst_spreads_before_any_engine_has_heard_of_it():
    """Load counts at reservation: 16 acquires over two members give 8 and 8."""
    desk = Desk({"a": 16, "b": 16}, strategy="capacity")
    desk.signals(a=0, b=900_000)
    assert take(desk, 16)[-1] == {"a": 8, "b": 8}


def test_unknown_pressure_ranks_behind_fresh_at_the_same_share():
    """A missing or stale number is never zero load; at another share it does not matter."""
    desk = Desk({"a": 4, "b": 4}, strategy="capacity")
    desk.signals(a=None, b=2_000_000)
    assert [desk.took() for _ in range(4)] == ["b", "a", "b", "a"]
    desk.signals(a=3)
    assert desk.took() == "a"


def test_the_smaller_pressure_goes_first_and_turns_break_ties():
    """With equal shares the less loaded engine is taken; with equal pressures they take turns."""
    desk = Desk({"a": 4, "b": 4, "c": 4}, strategy="capacity")
    desk.signals(a=7, b=5, c=5)
    assert [desk.took() for _ in range(3)] == ["b", "c", "a"]
    desk.signals(a=5, b=5, c=5)
    assert [desk.took() for _ in range(3)] == ["b", "c", "a"]


def test_a_grant_notes_what_was_known_before_it():
    """The scores of all eligible members, by name, before the reservation."""
    desk = Desk({"a": 2, "b": 4, "c": 1}, ready="ab", strategy="capacity")
    desk.signals(a=500_000, b=None)
    desk.acquire()
    schedule = desk.schedules[desk.acquire()]
    assert schedule is not None
    assert (schedule.selected, schedule.is_affinity_hit) == ("b", None)
    assert schedule.scores == (
        MemberScore(MemberId("a"), 1, 2, FRESH, 500_000, 1),
        MemberScore(MemberId("b"), 0, 4, Freshness.STALE, 0, 0),
    )
    assert [one.upstream_unknown for one in schedule.scores] == [False, True]


def test_a_member_that_left_is_unknown_when_it_returns():
    """What was said of a member says nothing of its successor; the strategy stays."""
    desk = Desk({"a": 4, "b": 4}, strategy="capacity")
    desk.signals(a=0, b=0)
    held = desk.acquire()
    assert desk.answers[held] == "a"
    desk.reconfigure(b=4)
    desk.reconfigure(a=4, b=4)
    desk.ready("ab")
    desk.release(held)
    assert desk.took() == "b"
    schedule = desk.schedules[desk.number]
    assert schedule is not None
    assert [one.freshness for one in schedule.scores] == ["unknown", "fresh"]


def test_the_strategy_may_change_with_the_configuration():
    """A reconfiguration that names a strategy changes it and nothing else."""
    desk = Desk({"a": 1, "b": 9})
    desk.say(Reconfigure({MemberId("a"): 1, MemberId("b"): 9}, None, Strategy.CAPACITY))
    assert [desk.took() for _ in range(3)] == ["a", "b", "b"]
    desk.say(Reconfigure({MemberId("a"): 9, MemberId("b"): 9}, None, Strategy.ROUND_ROBIN))
    assert [desk.took() for _ in range(3)] == ["a", "b", "a"]


def session_at(member: str, members: str = "ab") -> str:
    """A session whose own member is this one."""
    every = [MemberId(name) for name in members]
    return next(f"s{n}" for n in range(99) if home_of(SessionId(f"s{n}"), every) == member)


def is_hit(desk: Desk) -> bool | None:
    """Whether the last grant was the session's own member."""
    schedule = desk.schedules[desk.number]
    return None if schedule is None else schedule.is_affinity_hit


def test_without_a_session_the_turns_are_as_ever():
    """R008: without the header a, b, a, b, and no note is made."""
    desk = Desk()
    assert [desk.took() for _ in range(4)] == ["a", "b", "a", "b"]
    assert set(desk.schedules.values()) == {None}


def test_a_session_keeps_its_member_and_moves_the_turn():
    """Its own member serves it each time; who comes without one is next after that member."""
    desk = Desk("abc")
    mine = session_at("b", "abc")
    assert [desk.took(session=mine) for _ in range(3)] == ["b", "b", "b"]
    assert is_hit(desk) is True
    assert [desk.took() for _ in range(2)] == ["c", "a"]


def test_a_session_never_overrides_readiness_quiesce_or_ceilings():
    """When its own member may not be taken, another one is, and the note says so."""
    desk = Desk({"a": 1, "b": None})
    mine = session_at("a")
    desk.ready("b")
    assert desk.took(session=mine) == "b"
    desk.ready("ab")
    desk.quiesce("a")
    assert desk.took(session=mine) == "b"
    desk.readmit("a")
    assert desk.took() == "a"
    assert desk.took(session=mine) == "b"
    assert is_hit(desk) is False


def test_a_session_decides_only_among_equals():
    """Under the capacity strategy a fuller or more loaded home is passed over."""
    desk = Desk({"a": 4, "b": 4}, strategy="capacity")
    mine = session_at("a")
    assert desk.took(session=mine) == "a"
    assert desk.took(session=mine) == "b"
    desk.signals(a=2, b=1)
    assert desk.took(session=mine) == "b"
    desk.signals(a=2, b=2)
    assert [desk.took(session=mine) for _ in range(2)] == ["a", "a"]


def test_a_session_that_waits_keeps_its_say():
    """Whoever stood in line is given its own member if that is free by then."""
    desk = Desk({"a": 2, "b": 2}, ceiling=2)
    held = [desk.acquire(), desk.acquire()]
    waiting = desk.acquire(session=session_at("b"))
    desk.release(held[0])
    assert desk.answers[waiting] == "b"


def test_sessions_spread_and_only_a_lost_members_sessions_move():
    """Rendezvous hashing: near equal shares, and without a member the others keep theirs."""
    every = [MemberId(name) for name in "abcd"]
    sessions = [SessionId(f"session-{number}") for number in range(4_000)]
    homes = {session: home_of(session, every) for session in sessions}
    for name in every:
        assert 850 < list(homes.values()).count(name) < 1_150
    fewer = [name for name in every if name != "c"]
    for session, home in homes.items():
        if home != "c":
            assert home_of(session, fewer) == home


def test_full_members_leave_callers_waiting_whatever_the_strategy():
    """With every member at its ceiling nobody is chosen, by session or by share."""
    by_turns = Desk({"a": 1, "b": 1})
    mine = session_at("a")
    assert {by_turns.took(session=mine), by_turns.took(session=mine)} == {"a", "b"}
    assert by_turns.took(session=mine) == "waits"
    by_share = Desk({"a": 1, "b": 1}, strategy="capacity")
    assert {by_share.took(), by_share.took()} == {"a", "b"}
    assert by_share.took() == "waits"
