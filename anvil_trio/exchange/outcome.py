"""Every way in which a request can end, and what the record says of it. Nothing else ends one."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.decisions.words import AttemptReason, Ending, WorkloadOutcome
from anvil_trio.errors import Code, Problem

__all__ = [
    "ENDINGS",
    "UPSTREAM_FAILURES",
    "Outcome",
    "outcome_of_failure",
    "outcome_of_rejection",
]


class Outcome(StrEnum):
    """The closed set of terminal outcomes: served, failed, left, stopped, refused."""

    SERVED = "served"

    BACKEND_ERROR = "backend_error"
    CONNECT_TIMEOUT = "connect_timeout"
    STARTUP_TIMEOUT = "startup_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    REQUEST_TIMEOUT = "request_timeout"
    INTERNAL_ERROR = "internal_error"

    CLIENT_DISCONNECTED = "client_disconnected"
    CLIENT_STALLED = "client_stalled"

    SHUTDOWN = "shutdown"
    CANCELLED = "cancelled"  # from outside, for a reason that nobody here was told

    REQUEST_REJECTED = "request_rejected"
    MODEL_NOT_FOUND = "model_not_found"
    OVER_CONTEXT = "over_context"
    MEDIA_ADMISSION = "media_admission"
    TOOLS_UNSUPPORTED = "tools_unsupported"
    CLIENT_CONCURRENCY_EXHAUSTED = "client_concurrency_exhausted"
    SERVER_BUSY = "server_busy"
    QUIESCED = "quiesced"
    NOT_ADMITTED = "not_admitted"  # no member is ready, or the tier has failed
    ADMISSION_TIMEOUT = "admission_timeout"


UPSTREAM_FAILURES = frozenset({
    Outcome.BACKEND_ERROR,
    Outcome.CONNECT_TIMEOUT,
    Outcome.STARTUP_TIMEOUT,
    Outcome.IDLE_TIMEOUT,
})
"""The ends that are the engine's own doing, its refusal of the request among them."""


def _refused(reason: AttemptReason | None = None) -> Ending:
    return Ending(WorkloadOutcome.REJECTED, refusal=reason)


# A deadline that fires after dispatch is the engine's failure in the attempt, whose reasons are
# few, and a timeout for the caller. A wait that was refused is a rejection and no timeout: it says
# that the tier was full, and no engine was asked.
ENDINGS: Mapping[Outcome, Ending] = MappingProxyType({
    Outcome.SERVED: Ending(WorkloadOutcome.SUCCESS, AttemptReason.SERVED),
    Outcome.BACKEND_ERROR: Ending(WorkloadOutcome.ERROR, AttemptReason.BACKEND_ERROR),
    Outcome.CONNECT_TIMEOUT: Ending(WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
    Outcome.STARTUP_TIMEOUT: Ending(WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
    Outcome.IDLE_TIMEOUT: Ending(WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
    Outcome.REQUEST_TIMEOUT: Ending(WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
    Outcome.INTERNAL_ERROR: Ending(WorkloadOutcome.ERROR),
    Outcome.CLIENT_DISCONNECTED: Ending(
        WorkloadOutcome.DISCONNECTED, AttemptReason.CLIENT_DISCONNECTED
    ),
    Outcome.CLIENT_STALLED: Ending(WorkloadOutcome.DISCONNECTED, AttemptReason.CLIENT_DISCONNECTED),
    Outcome.SHUTDOWN: Ending(WorkloadOutcome.CANCELLED),
    Outcome.CANCELLED: Ending(WorkloadOutcome.CANCELLED),
    Outcome.REQUEST_REJECTED: _refused(AttemptReason.REQUEST_REJECTED),
    Outcome.MODEL_NOT_FOUND: _refused(),
    Outcome.OVER_CONTEXT: _refused(AttemptReason.OVER_CONTEXT),
    Outcome.MEDIA_ADMISSION: _refused(AttemptReason.MEDIA_ADMISSION),
    Outcome.TOOLS_UNSUPPORTED: _refused(AttemptReason.TOOLS_UNSUPPORTED),
    Outcome.CLIENT_CONCURRENCY_EXHAUSTED: _refused(),
    Outcome.SERVER_BUSY: _refused(),
    Outcome.QUIESCED: _refused(AttemptReason.QUIESCED),
    Outcome.NOT_ADMITTED: _refused(AttemptReason.UNAVAILABLE),
    Outcome.ADMISSION_TIMEOUT: _refused(AttemptReason.ADMISSION_TIMEOUT),
})
"""What the record says of a request that ended in this way; every outcome has an answer."""

_FAILURES: dict[Code, Outcome] = {
    Code.CONNECT_TIMEOUT: Outcome.CONNECT_TIMEOUT,
    Code.STARTUP_TIMEOUT: Outcome.STARTUP_TIMEOUT,
    Code.IDLE_TIMEOUT: Outcome.IDLE_TIMEOUT,
    Code.REQUEST_TIMEOUT: Outcome.REQUEST_TIMEOUT,
    Code.UPSTREAM_TIMEOUT: Outcome.IDLE_TIMEOUT,
    Code.SHUTTING_DOWN: Outcome.SHUTDOWN,
    Code.INTERNAL_ERROR: Outcome.INTERNAL_ERROR,
}

_REJECTIONS: dict[Code, Outcome] = {
    Code.MODEL_NOT_FOUND: Outcome.MODEL_NOT_FOUND,
    Code.ROUTE_NOT_FOUND: Outcome.MODEL_NOT_FOUND,
    Code.CONTEXT_LENGTH_EXCEEDED: Outcome.OVER_CONTEXT,
    Code.UNSUPPORTED_MEDIA: Outcome.MEDIA_ADMISSION,
    Code.SERVICE_UNAVAILABLE: Outcome.TOOLS_UNSUPPORTED,
    Code.CLIENT_CONCURRENCY_EXHAUSTED: Outcome.CLIENT_CONCURRENCY_EXHAUSTED,
    Code.SERVER_BUSY: Outcome.SERVER_BUSY,
    Code.SHUTTING_DOWN: Outcome.SHUTDOWN,
    Code.ADMISSION_TIMEOUT: Outcome.ADMISSION_TIMEOUT,
    Code.TIER_FAILED: Outcome.NOT_ADMITTED,
    Code.REQUEST_TIMEOUT: Outcome.REQUEST_TIMEOUT,
    Code.INTERNAL_ERROR: Outcome.INTERNAL_ERROR,
}


def outcome_of_rejection(what: Problem) -> Outcome:
    """How a request ended that a gate refused before a tier was asked for a member.

    Among the gates only that for tools answers `service_unavailable`; a tier's own refusal has
    its own outcomes (`QUIESCED`, `NOT_ADMITTED`) and does not come through here.
    """
    return _REJECTIONS.get(what.code, Outcome.REQUEST_REJECTED)


def outcome_of_failure(what: Problem) -> Outcome:
    """How a request ended whose one attempt on the chosen member broke.

    Whatever an engine answered, a refusal of the request too, is a backend error: it was asked.
    """
    return _FAILURES.get(what.code, Outcome.BACKEND_ERROR)
