"""The operation service as its adapters see it: a Protocol, so that they need no database."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from anvil_trio.operations.model import (
    Artifact,
    Capabilities,
    Event,
    Operation,
    Refusal,
    Submission,
    Workflow,
)

__all__ = ["Operations"]


class Operations(Protocol):
    """Named workflows, run once per idempotency key. Another principal's is always not found.

    Every `async` call may answer `unavailable`; none raises but for a bug. Cancelled, a call has
    changed what it was to change, or nothing.
    """

    def workflows(self) -> tuple[Workflow, ...]:
        """All that can be run, in the order of the registry."""
        ...

    def workflow(self, workflow_id: str, version: str | None = None) -> Workflow | Refusal:
        """One of them; without a version, the last that the registry lists."""
        ...

    def validate(self, submission: Submission) -> Refusal | None:
        """What `submit` would refuse of it without looking at what is stored."""
        ...

    async def submit(self, principal: str, submission: Submission) -> Operation | Refusal:
        """The operation of that key: a new one, or the one that this very input made before."""
        ...

    async def operation(self, principal: str, operation_id: str) -> Operation | Refusal:
        """One operation as it is now."""
        ...

    async def cancel(self, principal: str, operation_id: str) -> Operation | Refusal:
        """The operation, which is now canceled; refused once it has ended in any way."""
        ...

    async def approve(self, principal: str, operation_id: str) -> Operation | Refusal:
        """Let one that awaits approval go on. Who may say so is the caller's business."""
        ...

    def events(
        self, principal: str, operation_id: str, after_sequence: int = 0
    ) -> AbstractAsyncContextManager[AsyncIterator[Event] | Refusal]:
        """Every event after that one, past and to come, in order; it ends with the terminal one."""
        ...

    async def artifact(self, principal: str, artifact_id: str) -> Artifact | Refusal:
        """One artifact that has not expired."""
        ...

    async def read_artifact(self, artifact: Artifact, start: int, length: int) -> bytes | Refusal:
        """At most `length` bytes from `start`; `artifact_not_found` if it expired meanwhile."""
        ...

    async def census(self) -> list[tuple[str, str, int]]:
        """How many operations of each workflow of the registry are in each state; [] if unknown."""
        ...

    def capabilities(self) -> Capabilities:
        """What the service can do."""
        ...
