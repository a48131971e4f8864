"""An operation service in memory: the adapters' tests say when an operation takes its next step."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import trio

from anvil_trio.operations.model import (
    Artifact,
    Capabilities,
    Event,
    FailureCode,
    Kind,
    Operation,
    Parameter,
    QualityProfile,
    Refusal,
    RefusalCode,
    State,
    Submission,
    Workflow,
)

PRINCIPAL = "media-user"

PAINT = Workflow(
    id="paint",
    version="2",
    title="Paint",
    description="Paints a picture.",
    parameters=(
        Parameter("prompt", Kind.STRING, required=True, max_length=200, description="What of."),
        Parameter("width", Kind.INTEGER, default=64, minimum=16, maximum=512),
        Parameter("style", Kind.STRING, default="plain", choices=("plain", "bold")),
    ),
    quality_profiles=(QualityProfile("draft", "Draft", {"width": 32}),),
)
OLD_PAINT = replace(PAINT, version="1", description="", quality_profiles=())
FILM = Workflow(
    id="film",
    version="1",
    title="Film",
    output_media_type="video/mp4",
    requires_approval=True,
)


@dataclass
class FakeOperations:
    """Follows `Operations`. Everything of another principal's is not found."""

    listed: tuple[Workflow, ...] = (OLD_PAINT, PAINT, FILM)
    refusal: Refusal | None = None  # what every async call answers instead
    submissions: list[Submission] = field(default_factory=list)
    stored: dict[str, Operation] = field(default_factory=dict)
    told: dict[str, list[Event]] = field(default_factory=dict)
    kept: dict[str, tuple[Artifact, bytes]] = field(default_factory=dict)
    is_broken: bool = False  # a bug of the service
    reads: list[tuple[int, int]] = field(default_factory=list)
    is_over: bool = False  # the service has ended
    max_read: int = 1_000_000
    _by_key: dict[tuple[str, str, str, str], str] = field(default_factory=dict)
    _changed: trio.lowlevel.ParkingLot = field(default_factory=trio.lowlevel.ParkingLot)

    # what the adapters ask

    def workflows(self) -> tuple[Workflow, ...]:
        return self.listed

    def workflow(self, workflow_id: str, version: str | None = None) -> Workflow | Refusal:
        versions = [one for one in self.listed if one.id == workflow_id]
        if not versions:
            return Refusal(RefusalCode.UNKNOWN_WORKFLOW)
        if version is None:
            return versions[-1]
        found = [one for one in versions if one.version == version]
        return found[0] if found else Refusal(RefusalCode.UNKNOWN_VERSION)

    def validate(self, submission: Submission) -> Refusal | None:
        workflow = self.workflow(submission.workflow_id, submission.version)
        if isinstance(workflow, Refusal):
            return workflow
        names = {one.name for one in workflow.parameters}
        if not submission.parameters.keys() <= names:
            return Refusal(RefusalCode.PARAMETER_UNKNOWN)
        for one in workflow.parameters:
            if one.required and one.name not in submission.parameters:
                return Refusal(RefusalCode.PARAMETER_REQUIRED, one.name)
        return None

    async def submit(self, principal: str, submission: Submission) -> Operation | Refusal:
        await self._asked()
        refusal = self.refusal or self.validate(submission)
        if refusal is not None:
            return refusal
        self.submissions.append(submission)
        key = (principal, submission.workflow_id, submission.version, submission.idempotency_key)
        if key not in self._by_key:
            self._by_key[key] = self.add(principal, submission).id
        return self.stored[self._by_key[key]]

    async def operation(self, principal: str, operation_id: str) -> Operation | Refusal:
        await self._asked()
        return self.refusal or self._own(principal, operation_id)

    async def cancel(self, principal: str, operation_id: str) -> Operation | Refusal:
        await self._asked()
        found = self.refusal or self._own(principal, operation_id)
        if isinstance(found, Refusal):
            return found
        if found.state.terminal:
            return Refusal(RefusalCode.OPERATION_NOT_CANCELABLE)
        return self.move(operation_id, State.CANCELED)

    async def approve(self, principal: str, operation_id: str) -> Operation | Refusal:
        raise AssertionError("no adapter approves")

    @asynccontextmanager
    async def events(
        self, principal: str, operation_id: str, after_sequence: int = 0
    ) -> AsyncIterator[AsyncIterator[Event] | Refusal]:
        found = self.refusal or self._own(principal, operation_id)
        yield found if isinstance(found, Refusal) else _Feed(self, operation_id, after_sequence)

    async def artifact(self, principal: str, artifact_id: str) -> Artifact | Refusal:
        await self._asked()
        if self.refusal is not None:
            return self.refusal
        kept = self.kept.get(artifact_id)
        if kept is None or kept[0].principal != principal:
            return Refusal(RefusalCode.ARTIFACT_NOT_FOUND)
        return kept[0]

    async def read_artifact(self, artifact: Artifact, start: int, length: int) -> bytes | Refusal:
        await self._asked()
        self.reads.append((start, length))
        if self.refusal is not None:
            return self.refusal
        if artifact.id not in self.kept:
            return Refusal(RefusalCode.ARTIFACT_NOT_FOUND)
        return self.kept[artifact.id][1][start : start + min(length, self.max_read)]

    async def census(self) -> list[tuple[str, str, int]]:
        return []

    def capabilities(self) -> Capabilities:
        return Capabilities("demo", ("image/png",), len(self.listed), 1_000_000, 4, 3600)

    # what a test does

    def add(self, principal: str, submission: Submission) -> Operation:
        """One more operation, accepted at 1,000 seconds."""
        number = len(self.stored) + 1
        operation = Operation(
            id=f"op_{number:032d}",
            principal=principal,
            workflow_id=submission.workflow_id,
            version=submission.version,
            state=State.ACCEPTED,
            sequence=1,
            created_s=1000.0,
            updated_s=1000.0,
            quality_profile=submission.quality_profile,
        )
        self.stored[operation.id] = operation
        self.told[operation.id] = [Event(operation.id, 1, State.ACCEPTED, 1000.0)]
        return operation

    def move(self, operation_id: str, *states: State) -> Operation:
        """The next steps of an operation, a second each."""
        for state in states:
            before = self.stored[operation_id]
            at_s = before.updated_s + 1
            latency = before.latency
            if state is State.RUNNING:
                latency = replace(latency, submitted_s=at_s - 1, started_s=at_s)
            if state.terminal:
                latency = replace(latency, ended_s=at_s)
            self.stored[operation_id] = replace(
                before,
                state=state,
                sequence=before.sequence + 1,
                updated_s=at_s,
                latency=latency,
                failure_code=FailureCode.TIMED_OUT if state is State.FAILED else None,
            )
            event = Event(operation_id, before.sequence + 1, state, at_s)
            self.told[operation_id].append(event)
        self._changed.unpark_all()
        return self.stored[operation_id]

    def keep(
        self, data: bytes, operation_id: str = "op_1", *, principal: str = PRINCIPAL
    ) -> Artifact:
        """One artifact, of an operation if that is there."""
        number = len(self.kept) + 1
        artifact = Artifact(
            id=f"art_{number:032d}",
            operation_id=operation_id,
            principal=principal,
            media_type="image/png",
            size=len(data),
            created_s=1000.0,
            expires_s=4600.0,
        )
        self.kept[artifact.id] = (artifact, data)
        if operation_id in self.stored:
            before = self.stored[operation_id]
            self.stored[operation_id] = replace(
                before, artifact_ids=(*before.artifact_ids, artifact.id)
            )
        return artifact

    def end(self) -> None:
        """The service is over, whatever runs."""
        self.is_over = True
        self._changed.unpark_all()

    async def until_changed(self) -> None:
        await self._changed.park()

    async def _asked(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_broken:
            raise RuntimeError("kanarie")

    def _own(self, principal: str, operation_id: str) -> Operation | Refusal:
        found = self.stored.get(operation_id)
        if found is None or found.principal != principal:
            return Refusal(RefusalCode.OPERATION_NOT_FOUND)
        return found


class _Feed:
    """Events one by one; a read that is cancelled has lost nothing."""

    def __init__(self, service: FakeOperations, operation_id: str, after: int) -> None:
        self._service, self._operation_id, self._after = service, operation_id, after

    def __aiter__(self):
        return self

    async def __anext__(self) -> Event:
        await trio.lowlevel.checkpoint()
        while True:
            ready = deque(
                event
                for event in self._service.told[self._operation_id]
                if event.sequence > self._after
            )
            if ready:
                self._after = ready[0].sequence
                return ready[0]
            is_ended = self._service.stored[self._operation_id].state.terminal
            if is_ended or self._service.is_over:
                raise StopAsyncIteration
            await self._service.until_changed()


def submission(key: str = "key-1", **parameters: object) -> Submission:
    """A submission that is right."""
    return Submission("paint", "2", {"prompt": "a cat", **parameters}, key)
