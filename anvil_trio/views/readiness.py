"""What may be shown of a probe's verdict: ready or unavailable, and a reason from a closed list."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from anvil_trio.config.model import Tier
from anvil_trio.facts import Verdict
from anvil_trio.names import MemberId, TierId
from anvil_trio.views.shape import Shape

__all__ = [
    "ReadinessBlock",
    "ReadyState",
    "ShownReadiness",
    "VerdictOf",
    "join_readiness",
    "show_change",
    "show_readiness",
]

VerdictOf = Callable[[TierId, MemberId], Verdict]
"""The last verdict on one member; asked once per member and payload."""

_UNAVAILABLE = "unavailable"

_REPLICA_SUCCESS = frozenset({"identity_passed"})
_REPLICA_FAILURES = frozenset({
    "availability_member_check_failed",
    "health_transport",
    "identity_malformed",
    "identity_mismatch",
    "identity_missing",
    "identity_oversized",
    "identity_transport",
    "member_readiness_not_configured",
    "probe_pending",
    "replica_member_unknown",
    "replica_probe_not_configured",
})
_DIRECT_SUCCESS = _REPLICA_SUCCESS | {
    "availability_not_configured",
    "health_passed",
    "upstream_metadata_passed",
}
_DIRECT_FAILURES = _REPLICA_FAILURES | {
    "probe_invalidated",
    "upstream_metadata_context_missing",
    "upstream_metadata_identity_mismatch",
    "upstream_metadata_model_count",
    "upstream_metadata_model_invalid",
    "upstream_metadata_output_limit_conflict",
}
_HTTP_REASON = re.compile(r"(health|identity)_http_[0-9]{3}")


ReadyState = Literal["ready", "unavailable"]


class ReadinessBlock(Shape, frozen=True, kw_only=True):
    """Whether work is taken, and why or why not."""

    loaded: bool
    state: ReadyState
    reason: str


@dataclass(frozen=True, slots=True)
class ShownReadiness:
    """A verdict as anybody may see it. A failure never carries a success reason."""

    is_ready: bool
    reason: str

    @property
    def state(self) -> ReadyState:
        """`ready` or `unavailable`."""
        return "ready" if self.is_ready else "unavailable"

    @property
    def block(self) -> ReadinessBlock:
        """A `readiness` in a payload."""
        return ReadinessBlock(loaded=self.is_ready, state=self.state, reason=self.reason)


def show_readiness(tier: Tier, verdict: Verdict) -> ShownReadiness:
    """One member's verdict, made safe to show; whatever is not on the list is `unavailable`.

    A replica is ready only if it proved that it serves the tier's model (R007).
    """
    if _is_ready(tier, verdict):
        return ShownReadiness(is_ready=True, reason=verdict.reason)
    failures = _REPLICA_FAILURES if tier.is_replica else _DIRECT_FAILURES
    return ShownReadiness(is_ready=False, reason=_shown_failure(verdict.reason, failures))


def show_change(*, is_ready: bool, reason: str) -> ShownReadiness:
    """A change that the prober told of, by the same closed lists."""
    if is_ready and reason in _DIRECT_SUCCESS:
        return ShownReadiness(is_ready=True, reason=reason)
    return ShownReadiness(is_ready=False, reason=_shown_failure(reason, _DIRECT_FAILURES))


def join_readiness(members: Iterable[ShownReadiness]) -> ShownReadiness:
    """A replica tier's readiness: ready while any member is, and whether that is all of them."""
    ready = [member.is_ready for member in members]
    if all(ready):
        return ShownReadiness(is_ready=True, reason="replicas_ready")
    if any(ready):
        return ShownReadiness(is_ready=True, reason="replicas_partial")
    return ShownReadiness(is_ready=False, reason="replicas_unavailable")


def _shown_failure(reason: str, failures: Collection[str]) -> str:
    is_known = reason in failures or _HTTP_REASON.fullmatch(reason) is not None
    return reason if is_known else _UNAVAILABLE


def _is_ready(tier: Tier, verdict: Verdict) -> bool:
    if not verdict.is_ready:
        return False
    if not tier.is_replica:
        return verdict.reason in _DIRECT_SUCCESS
    proved = tier.model is not None and verdict.observed_model == tier.model
    return proved and verdict.reason in _REPLICA_SUCCESS
