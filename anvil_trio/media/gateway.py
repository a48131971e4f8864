"""What both protocols stand on: the operation service, as one principal with these scopes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from anvil_trio.operations.interface import Operations
from anvil_trio.operations.model import Artifact, Operation

__all__ = ["Gateway", "MediaScope", "Reply"]


class MediaScope(StrEnum):
    """What `media_scopes` gives to the one principal of the media surfaces."""

    READ = "media:read"
    SUBMIT = "media:submit"
    CANCEL = "media:cancel"


@dataclass(frozen=True, slots=True)
class Gateway:
    """The service and on whose behalf it is asked. `origin` is the public one, `version` ours."""

    operations: Operations
    principal: str
    scopes: frozenset[str]
    origin: str
    version: str

    def may(self, scope: MediaScope) -> bool:
        """Whether the configuration gives this scope."""
        return scope in self.scopes

    async def artifacts_of(self, operation: Operation) -> Sequence[Artifact]:
        """Those artifacts of an operation that have not expired."""
        found = [
            await self.operations.artifact(self.principal, artifact_id)
            for artifact_id in operation.artifact_ids
        ]
        return [one for one in found if isinstance(one, Artifact)]


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer over HTTP. `is_refused` if it is an error of JSON-RPC."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    is_refused: bool = False
