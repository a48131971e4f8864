"""What an operator may order, and the fixed words for what not."""

import json

import pytest

from anvil_trio.config.model import RouterConfig
from anvil_trio.errors import Code, Problem
from anvil_trio.names import MemberId, TierId
from anvil_trio.transition.order import (
    Action,
    Order,
    find_target_fault,
    parse_order,
    parse_status_query,
)
from tests.support.small_house import config_of, direct_tier, replica_tier


def order(**body) -> Order | Problem:
    """What becomes of a body."""
    return parse_order(json.dumps(body).encode())


def made(**body) -> Order:
    """An order that is one."""
    found = order(**body)
    assert isinstance(found, Order)
    return found


def refusal(found: Order | Problem) -> tuple[str | None, str]:
    """The field and the words of a refusal."""
    assert isinstance(found, Problem)
    assert (found.status, found.code) == (400, Code.INVALID_TRANSITION)
    assert "canary" not in found.message
    return found.param, found.message


def test_a_whole_order():
    """Every member of the body says something."""
    assert order(
        action="quiesce",
        tier_id="primary",
        member_id="a",
        reason="disk-swap",
        timeout=7,
        confirm=True,
        dry_run=False,
    ) == Order(Action.QUIESCE, TierId("primary"), MemberId("a"), "disk-swap", 7.0)


def test_what_is_not_said_has_a_default():
    """The reason is `promotion`, a drain waits 30 seconds, null is absence."""
    found = made(action="drain", tier_id="primary", member_id=None, reason=None, timeout=None)
    assert (found.member_id, found.reason, found.timeout_s) == (None, "promotion", 30.0)


@pytest.mark.parametrize("action", ["quiesce", "readmit"])
@pytest.mark.parametrize(
    ("flags", "is_dry"),
    [
        ({}, True),
        ({"confirm": True}, True),
        ({"dry_run": False}, True),
        ({"confirm": False, "dry_run": False}, True),
        ({"confirm": True, "dry_run": True}, True),
        ({"confirm": True, "dry_run": None}, True),
        ({"confirm": True, "dry_run": False}, False),
    ],
    ids=str,
)
def test_a_change_needs_both_words(action, flags, is_dry):
    """Only `confirm: true` together with `dry_run: false` changes anything."""
    assert made(action=action, tier_id="primary", **flags).is_dry_run is is_dry


@pytest.mark.parametrize(("flags", "is_dry"), [({}, False), ({"dry_run": True}, True)])
def test_a_drain_waits_unless_it_is_told_not_to(flags, is_dry):
    """It changes nothing, so it needs no confirmation."""
    assert made(action="drain", tier_id="primary", **flags).is_dry_run is is_dry


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "action"),
        ({"action": "canary"}, "action"),
        ({"action": ["drain"]}, "action"),
        ({"action": "quiesce"}, "tier_id"),
        ({"action": "status", "member_id": "a"}, "tier_id"),
        ({"action": "drain", "tier_id": 1}, "tier_id"),
        ({"action": "drain", "tier_id": ""}, "tier_id"),
        ({"action": "drain", "tier_id": "primary", "member_id": {}}, "member_id"),
        ({"action": "quiesce", "tier_id": "primary", "reason": "canary here"}, "reason"),
        ({"action": "quiesce", "tier_id": "primary", "reason": 1}, "reason"),
        ({"action": "drain", "tier_id": "primary", "timeout": 0}, "timeout"),
        ({"action": "drain", "tier_id": "primary", "timeout": 3601}, "timeout"),
        ({"action": "drain", "tier_id": "primary", "timeout": True}, "timeout"),
        ({"action": "drain", "tier_id": "primary", "timeout": "3"}, "timeout"),
        ({"action": "drain", "tier_id": "primary", "timeout": 10**400}, "timeout"),
        ({"action": "quiesce", "tier_id": "primary", "confirm": "canary"}, "confirm"),
        ({"action": "quiesce", "tier_id": "primary", "dry_run": 1}, "dry_run"),
        ({"action": "status", "canary": 1}, None),
    ],
    ids=str,
)
def test_a_value_that_breaks_its_rule_is_named_by_its_field(body, param):
    """The words are fixed and show nothing of what was sent."""
    found, words = refusal(order(**body))
    assert found == param
    assert words.endswith(".")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"action": "status", "action": "drain"}', b'{"timeout": Infinity}', b"\xff"],
)
def test_a_body_is_one_json_object(body):
    """A name twice is no order: one of the two was meant."""
    assert refusal(parse_order(body)) == (
        None,
        "The body must be one JSON object that names nothing twice.",
    )


def test_the_status_is_asked_of_all_of_one_or_of_a_member():
    """`GET` without a query asks for everything."""
    assert parse_status_query(b"") == Order(Action.STATUS)
    assert parse_status_query(b"tier_id=one") == Order(Action.STATUS, TierId("one"))
    assert parse_status_query(b"member_id=a&tier_id=one") == Order(
        Action.STATUS, TierId("one"), MemberId("a")
    )


@pytest.mark.parametrize(
    "query",
    [b"canary=1", b"tier_id=a&tier_id=b", b"tier_id", b"member_id=a", b"tier_id=", b"\xff=1"],
)
def test_any_other_query_is_refused(query):
    """Unknown, repeated, empty and unreadable parameters are a 400."""
    refusal(parse_status_query(query))


CONFIG: RouterConfig = config_of(replica_tier(), direct_tier("second"))


@pytest.mark.parametrize(
    ("tier_id", "member_id", "param"),
    [
        (None, None, ""),
        ("primary", None, ""),
        ("primary", "b", ""),
        ("second", None, ""),
        ("third", None, "tier_id"),
        ("primary", "c", "member_id"),
        ("second", "", "member_id"),
        ("second", "a", "member_id"),
    ],
)
def test_an_order_is_about_what_exists(tier_id, member_id, param):
    """R002: a direct tier has no member that could be named."""
    fault = find_target_fault(Order(Action.STATUS, tier_id, member_id), CONFIG)
    assert ("" if fault is None else fault.param) == param
