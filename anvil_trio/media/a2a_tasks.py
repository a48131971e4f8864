"""Operations as tasks of A2A 1.0, whole and as the events of a stream. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from anvil_trio.media.shown import WorkflowName, artifact_url, elapsed_ms, iso_time
from anvil_trio.operations.model import Artifact, Event, Operation, State
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape

__all__ = [
    "TASK_STATES",
    "ArtifactEvent",
    "SentTask",
    "StatusEvent",
    "TaskShown",
    "show_task",
    "tell_artifact",
    "tell_status",
]

TASK_STATES: Mapping[State, str] = MappingProxyType({
    State.ACCEPTED: "TASK_STATE_SUBMITTED",
    State.AWAITING_APPROVAL: "TASK_STATE_INPUT_REQUIRED",
    State.PREPARING: "TASK_STATE_WORKING",
    State.SUBMITTING: "TASK_STATE_WORKING",
    State.QUEUED: "TASK_STATE_WORKING",
    State.RUNNING: "TASK_STATE_WORKING",
    State.COMPLETED: "TASK_STATE_COMPLETED",
    State.FAILED: "TASK_STATE_FAILED",
    State.CANCELED: "TASK_STATE_CANCELED",
})


class TaskStatus(Shape, frozen=True, kw_only=True, rename="camel"):
    """Where a task is, and since when."""

    state: str
    timestamp: str


class PartShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """An artifact's bytes, by their URL."""

    url: str
    media_type: str


class ArtifactFacts(Shape, frozen=True, kw_only=True, rename="camel"):
    """What is known of an artifact beside its bytes."""

    size: Count
    expires_at: str


class TaskArtifact(Shape, frozen=True, kw_only=True, rename="camel"):
    """One result of a task."""

    artifact_id: str
    parts: tuple[PartShown, ...]
    metadata: ArtifactFacts


class TaskLatency(Shape, frozen=True, kw_only=True, rename="camel"):
    """Milliseconds since the task was accepted; a key is there once the task came so far."""

    submitted_ms: Count | Absent = ABSENT
    started_ms: Count | Absent = ABSENT
    ended_ms: Count | Absent = ABSENT


class TaskFacts(Shape, frozen=True, kw_only=True, rename="camel"):
    """What is known of a task beside its state; `job_state` is finer than A2A's."""

    sequence: Count
    workflow: WorkflowName
    job_state: str
    latency: TaskLatency
    quality_profile: str | Absent = ABSENT
    failure_code: str | Absent = ABSENT


class StepFacts(Shape, frozen=True, kw_only=True, rename="camel"):
    """What is known of one step of a task."""

    sequence: Count
    job_state: str


class TaskShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """One task; its id is the job's, and so is its context's."""

    id: str
    context_id: str
    status: TaskStatus
    artifacts: tuple[TaskArtifact, ...]
    metadata: TaskFacts


class SentTask(Shape, frozen=True, kw_only=True, rename="camel"):
    """A task as a message is answered with it, and as a stream begins with it."""

    task: TaskShown


class StatusUpdate(Shape, frozen=True, kw_only=True, rename="camel"):
    """A task came to another state."""

    task_id: str
    context_id: str
    status: TaskStatus
    metadata: StepFacts


class StatusEvent(Shape, frozen=True, kw_only=True, rename="camel"):
    """The same as an event of a stream."""

    status_update: StatusUpdate


class ArtifactUpdate(Shape, frozen=True, kw_only=True, rename="camel"):
    """A task has made something, which is told whole."""

    task_id: str
    context_id: str
    artifact: TaskArtifact
    append: bool
    last_chunk: bool


class ArtifactEvent(Shape, frozen=True, kw_only=True, rename="camel"):
    """The same as an event of a stream."""

    artifact_update: ArtifactUpdate


def show_task(operation: Operation, artifacts: Sequence[Artifact], origin: str) -> TaskShown:
    """One operation with those of its artifacts that have not expired."""
    failure = operation.failure_code
    return TaskShown(
        id=operation.id,
        context_id=operation.id,
        status=_status(operation.state, operation.updated_s),
        artifacts=tuple(_show_artifact(one, origin) for one in artifacts),
        metadata=TaskFacts(
            sequence=operation.sequence,
            workflow=WorkflowName(id=operation.workflow_id, version=operation.version),
            job_state=operation.state.value,
            latency=_show_latency(operation),
            quality_profile=operation.quality_profile or ABSENT,
            failure_code=ABSENT if failure is None else failure.value,
        ),
    )


def _show_latency(operation: Operation) -> TaskLatency:
    def since(moment_s: float | None) -> int | Absent:
        elapsed = elapsed_ms(operation.created_s, moment_s)
        return ABSENT if elapsed is None else elapsed

    latency = operation.latency
    return TaskLatency(
        submitted_ms=since(latency.submitted_s),
        started_ms=since(latency.started_s),
        ended_ms=since(latency.ended_s),
    )


def tell_status(event: Event) -> StatusEvent:
    """One step of an operation."""
    return StatusEvent(
        status_update=StatusUpdate(
            task_id=event.operation_id,
            context_id=event.operation_id,
            status=_status(event.state, event.at_s),
            metadata=StepFacts(sequence=event.sequence, job_state=event.state.value),
        )
    )


def tell_artifact(artifact: Artifact, origin: str) -> ArtifactEvent:
    """One thing that an operation has made."""
    return ArtifactEvent(
        artifact_update=ArtifactUpdate(
            task_id=artifact.operation_id,
            context_id=artifact.operation_id,
            artifact=_show_artifact(artifact, origin),
            append=False,
            last_chunk=True,
        )
    )


def _status(state: State, at_s: float) -> TaskStatus:
    return TaskStatus(state=TASK_STATES[state], timestamp=iso_time(at_s))


def _show_artifact(one: Artifact, origin: str) -> TaskArtifact:
    return TaskArtifact(
        artifact_id=one.id,
        parts=(PartShown(url=artifact_url(one, origin), media_type=one.media_type),),
        metadata=ArtifactFacts(size=one.size, expires_at=iso_time(one.expires_s)),
    )
