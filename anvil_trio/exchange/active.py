"""What may be shown of an exchange that runs: read off what it keeps anyway, at no cost to it."""

from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.exchange.watch import Watch
from anvil_trio.facts import ActiveRequest, Phase

__all__ = ["phase_of", "show_running"]


def phase_of(record: RecordBuilder, watch: Watch) -> Phase:
    """How far it has come."""
    if watch.progressed_at is not None:
        return Phase.STREAMING
    if watch.dispatched_at is not None:
        return Phase.DISPATCHED
    if record.answered_at is not None:
        return Phase.ADMITTED
    return Phase.CHECKING if record.asked_at is None else Phase.QUEUED


def show_running(record: RecordBuilder, watch: Watch, now: float) -> ActiveRequest:
    """The exchange at `now`, a moment of trio's clock. Nothing of it changes."""
    usage, tier = record.usage_so_far, record.tier
    return ActiveRequest(
        gateway_request_id=record.gateway_request_id,
        phase=phase_of(record, watch),
        created_unix=record.created_unix,
        session_id=record.caller.session_id,
        client_id=record.client_id,
        route=record.route,
        elapsed_ms=_ms(now - record.started_at),
        last_activity_ms=_ms(now - _last_activity(record, watch)),
        admission_wait_ms=_admission_wait_ms(record, now),
        estimated_input_tokens=record.prompt_tokens_estimate,
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_input_tokens=usage.cached_tokens,
        context_limit_tokens=None if tier is None else tier.context_limit,
    )


def _last_activity(record: RecordBuilder, watch: Watch) -> float:
    """When it last took a step; an engine's heartbeat or ours is none."""
    steps = (record.asked_at, record.answered_at, record.attempted_at)
    known = (*steps, watch.dispatched_at, watch.progressed_at)
    return max((at for at in known if at is not None), default=record.started_at)


def _admission_wait_ms(record: RecordBuilder, now: float) -> int | None:
    if record.asked_at is None:
        return None
    return _ms((now if record.answered_at is None else record.answered_at) - record.asked_at)


def _ms(seconds: float) -> int:
    return max(round(seconds * 1000), 0)
