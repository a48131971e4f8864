"""What a caller is shown of workflows, jobs and artifacts: closed shapes, whatever the protocol.

Nothing here has a place for a parameter's value that a caller sent, a path, a key or a backend's
address (R012); the one URL is the public one at which a caller downloads what is its own. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from anvil_trio.operations.model import (
    Artifact,
    Capabilities,
    Operation,
    Parameter,
    QualityProfile,
    Refusal,
    Scalar,
    Workflow,
)
from anvil_trio.views.shape import Count, Shape

__all__ = [
    "ARTIFACTS",
    "ArtifactShown",
    "CapabilitiesShown",
    "JobShown",
    "Validation",
    "WorkflowList",
    "WorkflowShown",
    "artifact_url",
    "elapsed_ms",
    "iso_time",
    "show_artifact",
    "show_capabilities",
    "show_job",
    "show_validation",
    "show_workflow",
    "show_workflows",
]

ARTIFACTS = "/artifacts/"
"""Where artifacts are downloaded, on the public origin."""


class WorkflowRow(Shape, frozen=True, kw_only=True, rename="camel"):
    """One workflow in the list."""

    id: str
    version: str
    title: str
    description: str
    output_media_type: str
    requires_approval: bool


class WorkflowList(Shape, frozen=True, kw_only=True, rename="camel"):
    """All that can be run."""

    workflows: tuple[WorkflowRow, ...]


class ParameterShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """One parameter; a bound that is null is none."""

    name: str
    kind: str
    required: bool
    description: str
    default: Scalar | None
    minimum: float | None
    maximum: float | None
    max_length: Count | None
    choices: tuple[Scalar, ...]


class ProfileShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """One quality profile, and the values that it locks."""

    id: str
    title: str
    locked: Mapping[str, Scalar]


class WorkflowShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """One version of a workflow, with all that a submission may say."""

    id: str
    version: str
    title: str
    description: str
    output_media_type: str
    requires_approval: bool
    parameters: tuple[ParameterShown, ...]
    quality_profiles: tuple[ProfileShown, ...]


class WorkflowName(Shape, frozen=True, kw_only=True, rename="camel"):
    """Which version of which workflow."""

    id: str
    version: str


class LatencyShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """Milliseconds since the job was accepted; null where it has not come so far."""

    submitted_ms: Count | None
    started_ms: Count | None
    ended_ms: Count | None


class ArtifactShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """One kept result; `url` wants the same credential as this."""

    artifact_id: str
    job_id: str
    media_type: str
    size: Count
    created_at: str
    expires_at: str
    url: str


class JobShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """One job as it is now."""

    job_id: str
    workflow: WorkflowName
    quality_profile: str | None
    state: str
    is_terminal: bool
    failure_code: str | None
    sequence: Count
    created_at: str
    updated_at: str
    latency: LatencyShown
    artifacts: tuple[ArtifactShown, ...]


class Validation(Shape, frozen=True, kw_only=True, rename="camel"):
    """Whether a submission would be taken; if not, why, and which declared parameter it is."""

    is_valid: bool
    code: str | None
    field: str | None


class CapabilitiesShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """What the media service can do, and what this credential may."""

    backend: str
    media_types: tuple[str, ...]
    workflows: Count
    max_artifact_bytes: Count
    max_active: Count
    retention_s: Count
    scopes: tuple[str, ...]


def show_workflows(workflows: Sequence[Workflow]) -> WorkflowList:
    """The list."""
    rows = tuple(
        WorkflowRow(
            id=one.id,
            version=one.version,
            title=one.title,
            description=one.description,
            output_media_type=one.output_media_type,
            requires_approval=one.requires_approval,
        )
        for one in workflows
    )
    return WorkflowList(workflows=rows)


def show_workflow(one: Workflow) -> WorkflowShown:
    """One of them in full."""
    return WorkflowShown(
        id=one.id,
        version=one.version,
        title=one.title,
        description=one.description,
        output_media_type=one.output_media_type,
        requires_approval=one.requires_approval,
        parameters=tuple(map(_show_parameter, one.parameters)),
        quality_profiles=tuple(map(_show_profile, one.quality_profiles)),
    )


def _show_parameter(one: Parameter) -> ParameterShown:
    return ParameterShown(
        name=one.name,
        kind=one.kind.value,
        required=one.required,
        description=one.description,
        default=one.default,
        minimum=one.minimum,
        maximum=one.maximum,
        max_length=one.max_length,
        choices=one.choices,
    )


def _show_profile(one: QualityProfile) -> ProfileShown:
    return ProfileShown(id=one.id, title=one.title, locked=dict(one.locked))


def show_job(operation: Operation, artifacts: Sequence[Artifact], origin: str) -> JobShown:
    """One job with those of its artifacts that have not expired."""
    failure = operation.failure_code
    return JobShown(
        job_id=operation.id,
        workflow=WorkflowName(id=operation.workflow_id, version=operation.version),
        quality_profile=operation.quality_profile,
        state=operation.state.value,
        is_terminal=operation.state.terminal,
        failure_code=None if failure is None else failure.value,
        sequence=operation.sequence,
        created_at=iso_time(operation.created_s),
        updated_at=iso_time(operation.updated_s),
        latency=_show_latency(operation),
        artifacts=tuple(show_artifact(one, origin) for one in artifacts),
    )


def _show_latency(operation: Operation) -> LatencyShown:
    latency = operation.latency
    return LatencyShown(
        submitted_ms=elapsed_ms(operation.created_s, latency.submitted_s),
        started_ms=elapsed_ms(operation.created_s, latency.started_s),
        ended_ms=elapsed_ms(operation.created_s, latency.ended_s),
    )


def show_artifact(one: Artifact, origin: str) -> ArtifactShown:
    """One artifact and where its owner gets it."""
    return ArtifactShown(
        artifact_id=one.id,
        job_id=one.operation_id,
        media_type=one.media_type,
        size=one.size,
        created_at=iso_time(one.created_s),
        expires_at=iso_time(one.expires_s),
        url=artifact_url(one, origin),
    )


def show_validation(refusal: Refusal | None) -> Validation:
    """The answer of a dry run."""
    if refusal is None:
        return Validation(is_valid=True, code=None, field=None)
    return Validation(is_valid=False, code=refusal.code.value, field=refusal.field)


def show_capabilities(one: Capabilities, scopes: Sequence[str]) -> CapabilitiesShown:
    """What there is, for a caller with these scopes."""
    return CapabilitiesShown(
        backend=one.backend,
        media_types=one.media_types,
        workflows=one.workflows,
        max_artifact_bytes=one.max_artifact_bytes,
        max_active=one.max_active,
        retention_s=one.retention_s,
        scopes=tuple(sorted(scopes)),
    )


def artifact_url(one: Artifact, origin: str) -> str:
    """Where an artifact is downloaded."""
    return f"{origin}{ARTIFACTS}{one.id}"


def iso_time(seconds: float) -> str:
    """A moment since the epoch as RFC 3339 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def elapsed_ms(since_s: float, until_s: float | None) -> int | None:
    """Whole milliseconds from one moment to another; never negative, None where it has not been."""
    return None if until_s is None else max(round((until_s - since_s) * 1000), 0)
