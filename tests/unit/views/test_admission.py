from dataclasses import replace

import pytest

from anvil_trio.facts import TierPhase
from anvil_trio.names import DIRECT_MEMBER, TierId
from anvil_trio.views.admission import project_admission, show_admission
from tests.unit.views.samples import (
    A,
    B,
    direct_snapshot,
    direct_tier,
    member_snapshot,
    read,
    replica_snapshot,
    replica_tier,
)

UNAVAILABLE = {
    "status": "unavailable",
    "state": None,
    "active_requests": None,
    "waiting_requests": None,
    "draining": None,
    "member_active_requests": None,
}


def shown(tier, snapshot):
    """The block as its reader gets it."""
    return read(project_admission(tier, snapshot))


class Forged:
    """Has a snapshot's attributes and is none."""

    def __init__(self):
        self.tier_id = "replicas"
        self.phase = TierPhase.ADMITTING
        self.active = self.waiting = 0
        self.is_draining = False
        self.members = (member_snapshot(A), member_snapshot(B))


class Lookalike(int):
    """An integer that is not exactly one."""


def test_an_idle_tier_shows_complete_zero_counts():
    """T005.1: zero is a claim, and a valid snapshot makes it for every configured member."""
    assert shown(replica_tier(), replica_snapshot()) == {
        "status": "available",
        "state": "admitting",
        "active_requests": 0,
        "waiting_requests": 0,
        "draining": False,
        "member_active_requests": {"member-a": 0, "member-b": 0},
    }


def test_a_busy_tier_shows_the_sum_and_its_parts():
    """T005.1: the tier's count is the sum of its members'."""
    block = shown(replica_tier(), replica_snapshot(3, 1, waiting=2))
    assert block["active_requests"] == 4
    assert block["waiting_requests"] == 2
    assert block["member_active_requests"] == {"member-a": 3, "member-b": 1}


def test_members_are_shown_in_the_order_of_their_ids():
    """The order does not depend on the snapshot's."""
    members = (member_snapshot(B, 1), member_snapshot(A))
    block = shown(replica_tier(), replica_snapshot(active=1, members=members))
    assert list(block["member_active_requests"]) == ["member-a", "member-b"]


def test_a_direct_tier_shows_no_member_fields():
    """A direct tier's block has the same keys but for the members'."""
    assert shown(direct_tier(), direct_snapshot(2)) == {
        "status": "available",
        "state": "admitting",
        "active_requests": 2,
        "waiting_requests": 0,
        "draining": False,
    }


def test_a_draining_tier_is_quiesced():
    """T005.1: draining shows where the tier takes no new work."""
    snapshot = replica_snapshot(1, phase=TierPhase.QUIESCED, is_draining=True)
    block = shown(replica_tier(), snapshot)
    assert (block["state"], block["draining"], block["active_requests"]) == ("quiesced", True, 1)


def test_a_member_may_drain_while_its_tier_admits():
    """Member quiesce is independent of the tier's intent."""
    members = (member_snapshot(A, 1, is_quiesced=True, is_draining=True), member_snapshot(B))
    shown = show_admission(replica_tier(), replica_snapshot(active=1, members=members))
    assert (shown.state, shown.active) == ("admitting", 1)


def test_a_failed_tier_says_so_and_claims_no_counts():
    """A crashed tier's counters are not known; its state is."""
    block = shown(replica_tier(), replica_snapshot(phase=TierPhase.FAILED))
    assert block == UNAVAILABLE | {"state": "failed"}


def draining_member(*, is_quiesced):
    """Members of which the first is draining."""
    return (
        member_snapshot(A, is_quiesced=is_quiesced, is_draining=True),
        member_snapshot(B),
    )


BAD_SNAPSHOTS = {
    "absent": None,
    "forged": Forged(),
    "another tier's": replica_snapshot(tier_id=TierId("direct")),
    "sum too small": replica_snapshot(1, 1, active=1),
    "sum too large": replica_snapshot(1, 1, active=3),
    "negative": replica_snapshot(-1, 1),
    "negative waiting": replica_snapshot(waiting=-1),
    "too large": replica_snapshot(2**53),
    "too many waiting": replica_snapshot(waiting=2**53),
    "bool": replica_snapshot(active=True, members=(member_snapshot(A, True), member_snapshot(B))),
    "bool sum": replica_snapshot(1, active=True),
    "float": replica_snapshot(1, active=1.0),
    "float waiting": replica_snapshot(waiting=0.0),
    "lookalike": replica_snapshot(active=Lookalike(0)),
    "text": replica_snapshot(active="0"),
    "draining while admitting": replica_snapshot(is_draining=True),
    "member draining, none quiesced": replica_snapshot(members=draining_member(is_quiesced=False)),
    "member quiesced is no bool": replica_snapshot(members=draining_member(is_quiesced=1)),
    "draining is no bool": replica_snapshot(is_draining=0),
    "phase is text": replica_snapshot(phase="admitting"),
    "a member missing": replica_snapshot(members=(member_snapshot(A),)),
    "a member too many": replica_snapshot(
        members=(member_snapshot(A), member_snapshot(B), member_snapshot("member-c"))
    ),
    "a member twice": replica_snapshot(members=(member_snapshot(A), member_snapshot(A))),
    "a stranger": replica_snapshot(members=(member_snapshot(A), member_snapshot("member-c"))),
    "a forged member": replica_snapshot(members=(member_snapshot(A), Forged())),
    "members are no tuple": replica_snapshot(members=None),
    "a member's id is no text": replica_snapshot(members=(member_snapshot(A), member_snapshot([]))),
}


@pytest.mark.parametrize("what", BAD_SNAPSHOTS)
def test_a_snapshot_that_cannot_be_trusted_shows_nulls_and_never_zero(what):
    """T005.1: an absent, forged or inconsistent owner is unavailable."""
    assert shown(replica_tier(), BAD_SNAPSHOTS[what]) == UNAVAILABLE


def test_the_largest_exact_integer_is_still_shown():
    """2^53-1 is the bound, and inside."""
    assert show_admission(replica_tier(), replica_snapshot(2**53 - 1)).active == 2**53 - 1


def test_a_quiesced_tier_may_drain_any_member():
    """A member drains when it or its tier takes no new work."""
    snapshot = replica_snapshot(
        phase=TierPhase.QUIESCED, members=draining_member(is_quiesced=False)
    )
    assert show_admission(replica_tier(), snapshot).state == "quiesced"


def test_a_direct_tier_is_checked_like_any_other():
    """A direct tier's one member must account for its tier's count."""
    wrong = replace(direct_snapshot(2), members=(member_snapshot(DIRECT_MEMBER, 1),))
    assert shown(direct_tier(), wrong)["status"] == "unavailable"
