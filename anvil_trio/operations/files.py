"""The folder of artifacts: one file each, its owner's alone, whole or not there."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from anvil_trio.operations.ids import ARTIFACT_FILE
from anvil_trio.whole_file import replace_whole

__all__ = ["ArtifactFiles", "FolderUnusable"]

_OWNER_FOLDER = 0o700


class FolderUnusable(Exception):  # noqa: N818 - named by what was found, as trio does
    """The folder is not there and cannot be made, or cannot be written to."""


class ArtifactFiles:
    """What is below the root and has a name that only the service gives; all of it blocks.

    Raises FolderUnusable when made, and OSError from then on.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        try:
            root.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
            probe = self._path("art_" + "-" * 32)
            replace_whole(probe, b"", beside=_part(probe))
            probe.unlink()
        except (OSError, ValueError):
            raise FolderUnusable from None

    def write(self, artifact_id: str, data: bytes) -> None:
        """Keep the bytes: on the disk when it returns, or not there at all."""
        path = self._path(artifact_id)
        try:
            replace_whole(path, data, beside=_part(path))
        except OSError:
            with suppress(OSError):
                _part(path).unlink(missing_ok=True)
            raise

    def read(self, artifact_id: str, start: int, length: int) -> bytes:
        """At most `length` bytes from `start`."""
        with self._path(artifact_id).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def remove(self, artifact_ids: Collection[str]) -> None:
        """Let go of these; one that is not there, or will not go, is left to the next start."""
        for artifact_id in artifact_ids:
            with suppress(OSError):
                self._path(artifact_id).unlink(missing_ok=True)

    def remove_orphans(self, known: Collection[str]) -> int:
        """Let go of every file of ours that no row is about; how many there were.

        A process that is killed between a file and its row leaves one behind.
        """
        names = [path.name for path in self._root.iterdir() if ARTIFACT_FILE.fullmatch(path.name)]
        orphans = [name for name in names if name not in known]
        self.remove(orphans)
        return len(orphans)

    def _path(self, name: str) -> Path:
        assert ARTIFACT_FILE.fullmatch(name), "a name that the service gave"
        return self._root / name


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")
