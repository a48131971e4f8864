"""What an operator orders: the body or the query of a transition, checked. Pure.

Nothing that was sent is ever shown again: each refusal is a fixed text of ours (R012).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import ValidationError

from anvil_trio.config.fields import Flag, Text
from anvil_trio.config.json_object import read_json_object
from anvil_trio.config.kinds import INVALID, Choice, must
from anvil_trio.config.model import Frozen, RouterConfig
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.intent.intents import NOT_RESTORED, is_reason
from anvil_trio.names import MemberId, TierId
from anvil_trio.views.query import read_query

__all__ = [
    "MAX_DRAIN_S",
    "NOT_QUIESCED",
    "NO_MEMBER",
    "Action",
    "Order",
    "find_target_fault",
    "invalid",
    "parse_order",
    "parse_status_query",
]

MAX_DRAIN_S = 3600.0
_DEFAULT_DRAIN_S = 30.0


class Action(StrEnum):
    """What can be ordered."""

    STATUS = "status"
    QUIESCE = "quiesce"
    DRAIN = "drain"
    READMIT = "readmit"


@dataclass(frozen=True, slots=True)
class Order:
    """One order about a tier (member None), a member, or, for the status, all tiers (tier None).

    A change (quiesce, readmit) is a dry run unless it says both `confirm` and not `dry_run`. A
    drain changes nothing, so only `dry_run` makes it one.
    """

    action: Action
    tier_id: TierId | None = None
    member_id: MemberId | None = None
    reason: str = NOT_RESTORED
    timeout_s: float = _DEFAULT_DRAIN_S
    is_dry_run: bool = False


def invalid(message: str, param: str | None = None) -> Problem:
    """A 400 `invalid_transition` in fixed words."""
    return problem(Code.INVALID_TRANSITION, message=message, param=param)


NOT_QUIESCED = invalid("Only what is quiesced can be drained.")
NO_MEMBER = invalid("The tier has no such member.", "member_id")

_NO_OBJECT = invalid("The body must be one JSON object that names nothing twice.")
_UNKNOWN = invalid("The body has a member that this path does not take.")
_NO_NAME = invalid("A tier must be named.", "tier_id")
_NO_TIER = invalid("There is no such tier.", "tier_id")
_QUERY = invalid("The query may name one tier_id, and with it one member_id, and nothing else.")


def parse_order(body: bytes) -> Order | Problem:
    """The order that a body gives; null stands for absence."""
    document = read_json_object(body)
    if document is None:
        return _NO_OBJECT
    return _read({key: value for key, value in document.items() if value is not None})


def parse_status_query(query: bytes) -> Order | Problem:
    """What `GET` asks the status of: all tiers, one, or one member."""
    fields = read_query(query)
    if isinstance(fields, Problem):
        return _QUERY
    given = dict(fields)
    if len(given) < len(fields) or not given.keys() <= {"tier_id", "member_id"}:
        return _QUERY
    return _read({"action": Action.STATUS.value, **given})


def find_target_fault(order: Order, config: RouterConfig) -> Problem | None:
    """What is wrong with whom an order is about; a direct tier has no member to name."""
    if order.tier_id is None:
        return None
    tier = next((tier for tier in config.tiers if tier.id == order.tier_id), None)
    if tier is None:
        return _NO_TIER
    is_known = order.member_id is None or order.member_id in tier.named_members
    return None if is_known else NO_MEMBER


def _is_drain_time(seconds: float) -> bool:
    return 0 < seconds <= MAX_DRAIN_S


class _Body(Frozen):
    action: Annotated[Action, Choice()]
    tier_id: Text | None = None
    member_id: Text | None = None
    reason: Annotated[
        str, must("must be 1 to 128 letters, digits, '-', '_' and '.'", is_reason)
    ] = NOT_RESTORED
    timeout: Annotated[
        float, must("must be a number of seconds above 0 and at most 3600", _is_drain_time)
    ] = _DEFAULT_DRAIN_S
    confirm: Flag = False
    dry_run: Flag | None = None


def _read(given: Mapping[str, object]) -> Order | Problem:
    try:
        body = _Body.model_validate({"action": "", **given})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        is_ours = first["type"] == INVALID
        return invalid(f"It {first['msg']}.", str(first["loc"][0])) if is_ours else _UNKNOWN
    if body.tier_id is None and (body.action is not Action.STATUS or body.member_id is not None):
        return _NO_NAME
    return Order(
        action=body.action,
        tier_id=None if body.tier_id is None else TierId(body.tier_id),
        member_id=None if body.member_id is None else MemberId(body.member_id),
        reason=body.reason,
        timeout_s=body.timeout,
        is_dry_run=_is_dry(body),
    )


def _is_dry(body: _Body) -> bool:
    if body.action in {Action.QUIESCE, Action.READMIT}:
        return not body.confirm or body.dry_run is not False
    return body.dry_run is True
