"""What the operation service says and is told: frozen values, free of keys, paths and URLs. Pure.

Times that end in `_s` are seconds since the epoch. Nothing here shows a parameter's value but
`Submission`, which its `repr` leaves out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

__all__ = [
    "Artifact",
    "Capabilities",
    "Event",
    "FailureCode",
    "Kind",
    "Latency",
    "Operation",
    "Parameter",
    "QualityProfile",
    "Refusal",
    "RefusalCode",
    "Scalar",
    "State",
    "Submission",
    "Workflow",
]

Scalar: TypeAlias = str | int | float | bool
"""The value of a parameter: text, a number, true or false, or an artifact's id."""


class State(StrEnum):
    """Where an operation is; which may follow which is in `operations.states`."""

    ACCEPTED = "accepted"
    AWAITING_APPROVAL = "awaiting_approval"
    PREPARING = "preparing"
    SUBMITTING = "submitting"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def terminal(self) -> bool:
        """Whether nothing follows."""
        return self in {State.COMPLETED, State.FAILED, State.CANCELED}


class FailureCode(StrEnum):
    """Why an operation failed: the whole list, in fixed words."""

    WORKFLOW_REMOVED = "workflow_removed"  # the registry no longer names what was asked for
    INPUT_GONE = "input_gone"  # an artifact that it was to work on has expired
    BACKEND_REJECTED = "backend_rejected"  # the backend would not take it
    BACKEND_FAILED = "backend_failed"  # the backend took it and could not do it
    BACKEND_LOST = "backend_lost"  # the backend forgot it, again and again
    OUTPUT_INVALID = "output_invalid"  # no file, or none of the declared type
    OUTPUT_TOO_LARGE = "output_too_large"
    STORAGE_FULL = "storage_full"
    TIMED_OUT = "timed_out"


class RefusalCode(StrEnum):
    """Why the service did not do what it was asked: the whole list."""

    UNKNOWN_WORKFLOW = "unknown_workflow"
    UNKNOWN_VERSION = "unknown_version"
    UNKNOWN_QUALITY_PROFILE = "unknown_quality_profile"
    PARAMETER_REQUIRED = "parameter_required"
    PARAMETER_UNKNOWN = "parameter_unknown"  # the name is the caller's own, so `field` is None
    PARAMETER_INVALID = "parameter_invalid"
    PARAMETER_LOCKED = "parameter_locked"  # by the quality profile that was chosen
    IDEMPOTENCY_KEY_INVALID = "idempotency_key_invalid"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    OPERATION_NOT_FOUND = "operation_not_found"
    OPERATION_NOT_CANCELABLE = "operation_not_cancelable"
    OPERATION_NOT_AWAITING_APPROVAL = "operation_not_awaiting_approval"
    ARTIFACT_NOT_FOUND = "artifact_not_found"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was not done; nothing has changed. `field` is a parameter's name of the registry."""

    code: RefusalCode
    field: str | None = None


class Kind(StrEnum):
    """The kinds of parameter."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARTIFACT = "artifact"  # the id of one of the caller's own artifacts


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a workflow; text is always bounded, and so are numbers."""

    name: str
    kind: Kind
    required: bool = False
    default: Scalar | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Scalar, ...] = ()
    max_length: int | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class QualityProfile:
    """One explicit choice of a caller's: these parameters then have these values, and no others."""

    id: str
    title: str
    locked: Mapping[str, Scalar] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Workflow:
    """One version of a named workflow; nothing else can be run."""

    id: str
    version: str
    title: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    quality_profiles: tuple[QualityProfile, ...] = ()
    output_media_type: str = "image/png"
    requires_approval: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """What a caller asks for, once: the key makes a repetition the same operation."""

    workflow_id: str
    version: str
    parameters: Mapping[str, object] = field(repr=False)  # unchecked: whatever the caller sent
    idempotency_key: str = field(repr=False)
    quality_profile: str | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """When an operation came to each part of its life; None where it has not been."""

    submitted_s: float | None = None  # handed to the backend
    started_s: float | None = None  # seen running
    ended_s: float | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it is now. `sequence` is its newest event's."""

    id: str
    principal: str = field(repr=False)
    workflow_id: str
    version: str
    state: State
    sequence: int
    created_s: float
    updated_s: float
    failure_code: FailureCode | None = None
    artifact_ids: tuple[str, ...] = ()
    quality_profile: str | None = None
    latency: Latency = Latency()


@dataclass(frozen=True, slots=True)
class Event:
    """An operation came to `state`; sequences begin at 1 and have no gap."""

    operation_id: str
    sequence: int
    state: State
    at_s: float


@dataclass(frozen=True, slots=True)
class Artifact:
    """One kept result: its bytes do not change until it expires."""

    id: str
    operation_id: str
    principal: str = field(repr=False)
    media_type: str
    size: int
    created_s: float
    expires_s: float


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this service can do, for whoever may ask."""

    backend: str
    media_types: tuple[str, ...]
    workflows: int
    max_artifact_bytes: int
    max_active: int
    retention_s: int
