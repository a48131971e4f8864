"""The closed words of a decision record. Whoever counts or filters records may rely on them."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "AttemptOutcome",
    "AttemptReason",
    "Ending",
    "RequestKind",
    "Selection",
    "TokenSource",
    "WorkloadOutcome",
]


class RequestKind(StrEnum):
    """What a request asked for."""

    CHAT = "chat"
    EMBEDDING = "embedding"
    RERANK = "rerank"
    STT = "stt"
    TTS = "tts"
    REALTIME = "realtime"
    MCP = "mcp"
    A2A = "a2a"
    ARTIFACT = "artifact"


class WorkloadOutcome(StrEnum):
    """How a request ended, seen by its caller."""

    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    REJECTED = "rejected"
    DISCONNECTED = "disconnected"


class AttemptReason(StrEnum):
    """Why an attempt ended as it did. Never an exception's name or an engine's words (R012).

    The first five follow a dispatch; `completion_error` means that the router ended it, not the
    engine. The others say which gate a direct tier's request did not pass.
    """

    SERVED = "served"
    SERVED_OUTPUT_CLAMPED = "served_output_clamped"
    CLIENT_DISCONNECTED = "client_disconnected"
    BACKEND_ERROR = "backend_error"
    COMPLETION_ERROR = "completion_error"

    REQUEST_REJECTED = "request_rejected"
    OVER_CONTEXT = "over_context"
    MEDIA_ADMISSION = "media_admission"
    TOOLS_UNSUPPORTED = "tools_unsupported"
    QUIESCED = "quiesced"
    UNAVAILABLE = "unavailable"
    ADMISSION_TIMEOUT = "admission_timeout"


class AttemptOutcome(StrEnum):
    """What became of one attempt; `skipped` means that no engine was asked."""

    SERVED = "served"
    ERROR = "error"
    SKIPPED = "skipped"


class TokenSource(StrEnum):
    """Where a token count comes from."""

    UPSTREAM = "upstream"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


class Selection(StrEnum):
    """How a replica tier's choice of a member went (T011).

    `not_admitted` deliberately does not tell readiness, quiesce and capacity apart.
    """

    IDENTITY_PASSED = "identity_passed"
    NOT_ADMITTED = "not_admitted"
    REQUEST_REJECTED = "request_rejected"


@dataclass(frozen=True, slots=True)
class Ending:
    """What one terminal outcome means for the record, whether or not a member was chosen.

    `attempt` is why the one attempt ended, if a member was chosen. `refusal` is the gate that a
    direct tier's skipped attempt names if none was; None where there is nothing to name.
    """

    workload_outcome: WorkloadOutcome
    attempt: AttemptReason = AttemptReason.COMPLETION_ERROR
    refusal: AttemptReason | None = None
