"""From a backend's files to kept artifacts: bounded, judged by their bytes, all of them or none."""

from collections.abc import Sequence
from dataclasses import dataclass

from anvil_trio.operations.aside import Aside
from anvil_trio.operations.backend import Backend, BackendUnavailable, Output, TooLarge
from anvil_trio.operations.files import ArtifactFiles
from anvil_trio.operations.ids import Token, new_artifact_id
from anvil_trio.operations.model import Artifact, FailureCode, Operation
from anvil_trio.operations.signatures import media_type_of

__all__ = ["MAX_OUTPUTS", "Ingest", "Keeping"]

MAX_OUTPUTS = 16
"""How many files one operation may make."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept, where, and for how long."""

    files: ArtifactFiles
    aside: Aside
    token: Token
    max_artifact_bytes: int
    max_stored_bytes: int
    retention_s: float


class Ingest:
    """Takes in the files of one operation after the other."""

    def __init__(self, backend: Backend, keeping: Keeping) -> None:
        self._backend, self._keeping = backend, keeping

    async def take(
        self, operation: Operation, media_type: str, outputs: Sequence[Output], at_s: float
    ) -> list[Artifact] | FailureCode:
        """What was written, for its rows to be added; nothing is left if it has a fault.

        Raises BackendUnavailable and OSError, and leaves nothing then. Cancelled, files may be left
        that no row is about; they go at the next start.
        """
        if not 0 < len(outputs) <= MAX_OUTPUTS:
            return FailureCode.OUTPUT_TOO_LARGE if outputs else FailureCode.OUTPUT_INVALID
        artifacts = list[Artifact]()
        for output in outputs:
            found: Artifact | FailureCode | BackendUnavailable | OSError
            try:
                found = await self._take_one(operation, media_type, output, at_s)
            except (BackendUnavailable, OSError) as fault:
                found = fault
            if isinstance(found, Artifact):
                artifacts.append(found)
                continue
            await self.drop(artifacts)
            if isinstance(found, FailureCode):
                return found
            raise found
        return artifacts

    async def drop(self, artifacts: Sequence[Artifact]) -> None:
        """Let go of files that will have no rows."""
        names = [artifact.id for artifact in artifacts]
        await self._keeping.aside(lambda: self._keeping.files.remove(names))

    async def _take_one(
        self, operation: Operation, media_type: str, output: Output, at_s: float
    ) -> Artifact | FailureCode:
        keeping = self._keeping
        try:
            data = await self._backend.fetch(output, keeping.max_artifact_bytes)
        except TooLarge:
            return FailureCode.OUTPUT_TOO_LARGE
        if media_type_of(data) != media_type:
            return FailureCode.OUTPUT_INVALID
        artifact = Artifact(
            id=new_artifact_id(keeping.token),
            operation_id=operation.id,
            principal=operation.principal,
            media_type=media_type,
            size=len(data),
            created_s=at_s,
            expires_s=at_s + keeping.retention_s,
        )
        await keeping.aside(lambda: keeping.files.write(artifact.id, data))
        return artifact
