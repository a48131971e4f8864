"""What one probe's answers mean: a verdict whose reason comes from a closed list.

A refusal, a bad health answer or a wrong identity ends a member's readiness at once: each is
proof. A silence is none, since a busy engine is slow to answer; only several in a row count.
No name that an engine gave is kept unless it is the expected one (R012).
"""

from dataclasses import dataclass, replace
from http import HTTPStatus

import msgspec

from anvil_trio.facts import Answer, Silence, Verdict

__all__ = [
    "NOT_CONFIGURED",
    "PENDING",
    "Finding",
    "Standing",
    "judge_health",
    "judge_identity",
    "refuse_answer",
    "settle",
    "unready",
    "with_age",
]

PENDING = Verdict(is_ready=False, reason="probe_pending")
"""Nothing is known, yet or any more."""

NOT_CONFIGURED = Verdict(is_ready=True, reason="availability_not_configured")
"""A direct tier without a health path: nobody asks, so it always counts as ready."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found. A timeout's verdict holds only once there were enough in a row."""

    verdict: Verdict
    is_timeout: bool = False

    def after(self, took_s: float) -> "Finding":
        """The same, with how long the probe took."""
        return replace(self, verdict=replace(self.verdict, took_s=took_s))


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one member: the verdict that holds, and the timeouts since in a row."""

    verdict: Verdict = PENDING
    timeouts: int = 0


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def judge_health(said: Answer | Silence) -> Finding:
    """Whether the health path answered well: any 2xx or 3xx, whatever the body."""
    if isinstance(said, Silence):
        return _silent("health_transport", said)
    if HTTPStatus.OK <= said.status < HTTPStatus.BAD_REQUEST:
        return Finding(Verdict(is_ready=True, reason="health_passed"))
    return unready(f"health_http_{said.status}")


def judge_identity(said: Answer | Silence, expected: str) -> Finding:
    """Whether `/v1/models` names the model that the tier is configured for."""
    body = refuse_answer(said)
    if isinstance(body, Finding):
        return body
    fault = _identity_fault(body, expected)
    if fault is not None:
        return unready(fault)
    return Finding(Verdict(is_ready=True, reason="identity_passed", observed_model=expected))


def refuse_answer(said: Answer | Silence) -> bytes | Finding:
    """The body of an answer that says what is served, or why there is none to read."""
    if isinstance(said, Silence):
        return _silent("identity_transport", said)
    if not HTTPStatus.OK <= said.status < HTTPStatus.MULTIPLE_CHOICES:
        return unready(f"identity_http_{said.status}")
    return unready("identity_oversized") if said.body is None else said.body


def unready(reason: str) -> Finding:
    """Proof that a member must not be asked. `reason` is one of the closed list."""
    return Finding(Verdict(is_ready=False, reason=reason))


def settle(before: Standing, found: Finding, *, failures: int, now: float) -> Standing:
    """What is known after one more probe: a timeout changes nothing until `failures` in a row."""
    timeouts = before.timeouts + 1 if found.is_timeout else 0
    if found.is_timeout and timeouts < failures:
        return Standing(before.verdict, timeouts)
    return Standing(replace(found.verdict, checked_at=now), timeouts)


def with_age(verdict: Verdict, *, max_age_s: float, now: float) -> Verdict:
    """The verdict, or that nothing is known any more once it is `max_age_s` old."""
    checked_at = verdict.checked_at
    if checked_at is None or now < checked_at + max_age_s:
        return verdict
    return replace(PENDING, checked_at=checked_at)


def _silent(reason: str, silence: Silence) -> Finding:
    verdict = Verdict(is_ready=False, reason=reason)
    return Finding(verdict, is_timeout=silence is Silence.TIMED_OUT)


def _identity_fault(body: bytes, expected: str) -> str | None:
    try:
        served = msgspec.json.decode(body, type=_Models).data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "identity_malformed"
    if not served:
        return "identity_missing"
    is_served = any(model.id == expected for model in served)
    return None if is_served else "identity_mismatch"
