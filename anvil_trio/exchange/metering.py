"""What one finished request adds to the router's numbers. Pure."""

from anvil_trio.config.model import RouterConfig
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import AttemptOutcome, WorkloadOutcome
from anvil_trio.exchange.outcome import ENDINGS, Outcome
from anvil_trio.meters.board import DISCONNECTED, NO_TIER, STALLED, MemberMeters, Meters
from anvil_trio.names import DIRECT_MEMBER

__all__ = ["REFUSALS", "count_request", "make_meters"]

REFUSALS = tuple(
    outcome.value
    for outcome in Outcome
    if ENDINGS[outcome].workload_outcome is WorkloadOutcome.REJECTED
)
"""Every word for which a request may be refused."""

_LEFT = {Outcome.CLIENT_DISCONNECTED: DISCONNECTED, Outcome.CLIENT_STALLED: STALLED}


def make_meters(config: RouterConfig) -> Meters:
    """The numbers of a new process, all of them zero."""
    meters = Meters(REFUSALS)
    meters.cover(config)
    return meters


def count_request(
    meters: Meters, outcome: Outcome, record: DecisionRecord, mean_gap_s: float | None
) -> None:
    """Add one request, once: a few additions to numbers that were made before it came.

    `mean_gap_s` is how long its stream's events were apart; None where there were not two.
    """
    tier_id = record.requested_tier or NO_TIER
    route = meters.routes[record.route, tier_id]
    route.requests[record.workload_outcome].value += 1
    if outcome in route.refusals:  # a word is its own key
        route.refusals[outcome].value += 1
    elif outcome in _LEFT:
        route.left[_LEFT[outcome]].value += 1
    if record.admission_wait_ms is not None:
        meters.waits[tier_id].observe(record.admission_wait_ms / 1000)
    for attempt in record.attempts:
        member = meters.members.get((tier_id, record.replica_member_id or DIRECT_MEMBER))
        if member is not None and attempt.outcome is not AttemptOutcome.SKIPPED:
            member.attempts[attempt.reason].value += 1
            _count_attempt(member, record, mean_gap_s)


def _count_attempt(member: MemberMeters, record: DecisionRecord, mean_gap_s: float | None) -> None:
    if record.upstream_duration_ms is not None:
        member.upstream.observe(record.upstream_duration_ms / 1000)
    if record.time_to_first_content_ms is not None:
        member.first_content.observe(record.time_to_first_content_ms / 1000)
    if mean_gap_s is not None:
        member.gap.observe(mean_gap_s)
