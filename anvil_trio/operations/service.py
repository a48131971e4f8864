"""The operation service: what its adapters ask is checked here and written down by the writer."""

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from anvil_trio.operations.aside import Aside
from anvil_trio.operations.bells import Bell, Bells
from anvil_trio.operations.database import DatabaseFault
from anvil_trio.operations.files import ArtifactFiles
from anvil_trio.operations.ids import Token, new_operation_id
from anvil_trio.operations.inputs import Inputs, check_inputs
from anvil_trio.operations.model import (
    Artifact,
    Capabilities,
    Event,
    Operation,
    Refusal,
    RefusalCode,
    State,
    Submission,
    Workflow,
)
from anvil_trio.operations.recipe import Registry
from anvil_trio.operations.store import Entry, Store
from anvil_trio.operations.writer import Writer

__all__ = ["OperationService"]

Answer = TypeVar("Answer")

_UNAVAILABLE = Refusal(RefusalCode.UNAVAILABLE)
_ARTIFACT_NOT_FOUND = Refusal(RefusalCode.ARTIFACT_NOT_FOUND)
_EVENTS_AT_ONCE = 64


class OperationService:
    """Guarantees what `interface.Operations` says, over one writer and one reconciler.

    `take` tells the reconciler of an operation that somebody has to see to.
    """

    def __init__(
        self,
        writer: Writer,
        registry: Registry,
        capabilities: Capabilities,
        files: ArtifactFiles,
        readers: Aside,
        bells: Bells,
        take: Callable[[str], None],
        wall_clock: Callable[[], float],
        token: Token,
    ) -> None:
        self._writer, self._registry, self._bells = writer, registry, bells
        self._capabilities, self._files, self._readers = capabilities, files, readers
        self._take, self._wall_clock, self._token = take, wall_clock, token

    def workflows(self) -> tuple[Workflow, ...]:
        """All that can be run, in the order of the registry."""
        return self._registry.workflows

    def workflow(self, workflow_id: str, version: str | None = None) -> Workflow | Refusal:
        """One of them; without a version, the last that the registry lists."""
        versions = self._registry.versions(workflow_id)
        if not versions:
            return Refusal(RefusalCode.UNKNOWN_WORKFLOW)
        if version is None:
            return versions[-1].workflow
        recipe = self._registry.recipe(workflow_id, version)
        return Refusal(RefusalCode.UNKNOWN_VERSION) if recipe is None else recipe.workflow

    def validate(self, submission: Submission) -> Refusal | None:
        """What `submit` would refuse of it without looking at what is stored."""
        checked = self._check(submission)
        return checked if isinstance(checked, Refusal) else None

    async def submit(self, principal: str, submission: Submission) -> Operation | Refusal:
        """The operation of that key: a new one, or the one that this very input made before."""
        inputs = self._check(submission)
        if isinstance(inputs, Refusal):
            return inputs
        new_id = new_operation_id(self._token)
        entry = Entry(new_id, principal, submission, inputs, self._wall_clock())
        limit = self._capabilities.max_active
        found = await self._ask(lambda store: store.submit(entry, limit))
        if isinstance(found, Operation) and found.id == new_id:
            self._take(found.id)
        return found

    async def operation(self, principal: str, operation_id: str) -> Operation | Refusal:
        """One operation as it is now."""
        return await self._ask(lambda store: store.operation(principal, operation_id))

    async def cancel(self, principal: str, operation_id: str) -> Operation | Refusal:
        """The operation, which is now canceled; refused once it has ended in any way."""
        now = self._wall_clock()
        return await self._moved(lambda store: store.cancel(principal, operation_id, now))

    async def approve(self, principal: str, operation_id: str) -> Operation | Refusal:
        """Let one that awaits approval go on. Who may say so is the caller's business."""
        now = self._wall_clock()
        return await self._moved(lambda store: store.approve(principal, operation_id, now))

    @asynccontextmanager
    async def events(
        self, principal: str, operation_id: str, after_sequence: int = 0
    ) -> AsyncIterator[AsyncIterator[Event] | Refusal]:
        """Every event after that one, past and to come, in order; it ends with the terminal one.

        It ends sooner where the service itself does.
        """
        found = await self.operation(principal, operation_id)
        if isinstance(found, Refusal):
            yield found
            return
        with self._bells.listening(operation_id) as bell:
            yield _Feed(
                self._writer, bell, operation_id, min(max(after_sequence, 0), found.sequence)
            )

    async def artifact(self, principal: str, artifact_id: str) -> Artifact | Refusal:
        """One artifact that has not expired."""
        now = self._wall_clock()
        found = await self._ask(lambda store: store.artifact(principal, artifact_id, now))
        return _ARTIFACT_NOT_FOUND if found is None else found

    async def read_artifact(self, artifact: Artifact, start: int, length: int) -> bytes | Refusal:
        """At most `length` bytes from `start`; `artifact_not_found` if it expired meanwhile."""
        if artifact.expires_s <= self._wall_clock():
            return _ARTIFACT_NOT_FOUND
        try:
            return await self._readers(lambda: self._files.read(artifact.id, start, length))
        except FileNotFoundError:
            return _ARTIFACT_NOT_FOUND
        except OSError:
            return _UNAVAILABLE

    async def census(self) -> list[tuple[str, str, int]]:
        """How many operations of each workflow of the registry are in each state; [] if unknown."""
        found = await self._ask(lambda store: store.census())
        if isinstance(found, Refusal):
            return []
        names = dict.fromkeys(workflow.id for workflow in self._registry.workflows)
        return [
            (name, state.value, found.get((name, state), 0)) for name in names for state in State
        ]

    def capabilities(self) -> Capabilities:
        """What the service can do."""
        return self._capabilities

    def _check(self, submission: Submission) -> Inputs | Refusal:
        workflow = self.workflow(submission.workflow_id, submission.version)
        return workflow if isinstance(workflow, Refusal) else check_inputs(submission, workflow)

    async def _moved(self, call: Callable[[Store], Operation | Refusal]) -> Operation | Refusal:
        found = await self._ask(call)
        if isinstance(found, Operation):
            self._bells.ring(found.id)
            self._take(found.id)
        return found

    async def _ask(self, call: Callable[[Store], Answer]) -> Answer | Refusal:
        try:
            return await self._writer.ask(call)
        except DatabaseFault:
            return _UNAVAILABLE


class _Feed:
    """The events of one operation, read as they are asked for: nothing waits for a slow reader."""

    def __init__(self, writer: Writer, bell: Bell, operation_id: str, after: int) -> None:
        self._writer, self._bell, self._operation_id = writer, bell, operation_id
        self._after = after
        self._ready: deque[Event] = deque()
        self._is_over = False

    def __aiter__(self) -> "_Feed":
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            if self._is_over:
                raise StopAsyncIteration
            await self._read()
        event = self._ready.popleft()
        self._after = event.sequence
        return event

    async def _read(self) -> None:
        """What there is; where there is nothing, after the next ring."""
        try:
            events, self._is_over = await self._writer.ask(
                lambda store: store.feed(self._operation_id, self._after, _EVENTS_AT_ONCE)
            )
        except DatabaseFault:
            self._is_over = True
            return
        self._ready.extend(events)
        if not events and not self._is_over:
            await self._bell.wait()
