"""The service from a submission to an artifact, against a backend that does as it is told."""

from pathlib import Path

from trio.testing import MockClock

from anvil_trio.operations.demo_backend import DemoBackend
from anvil_trio.operations.model import Artifact, Operation, State
from tests.operations.stage import ME, here, open_service, seen, submitted


async def test_an_operation_comes_from_acceptance_to_a_kept_picture(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The embedded backend's picture is kept, whole, under an opaque id."""
    async with open_service(tmp_path, DemoBackend(here)) as service:
        operation = await submitted(service)
        states = await seen(service, operation.id)
        assert states == [
            "accepted", "preparing", "submitting", "queued", "running", "completed",
        ]  # fmt: skip
        done = await service.operation(ME, operation.id)
        assert isinstance(done, Operation)
        assert done.state is State.COMPLETED
        artifact = await service.artifact(ME, done.artifact_ids[0])
        assert isinstance(artifact, Artifact)
        data = await service.read_artifact(artifact, 0, artifact.size)
        assert isinstance(data, bytes)
        assert data.startswith(b"\x89PNG")
        assert len(data) == artifact.size
