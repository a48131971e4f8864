"""Opens the operation service of one process: its files at once, its actors with the house's."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anvil_trio.actors.supervise import Actors
from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.media import MediaSettings
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.regular import read_regular
from anvil_trio.operations.aside import Aside, Threads
from anvil_trio.operations.backend import Backend
from anvil_trio.operations.bells import Bells
from anvil_trio.operations.database import DatabaseUnusable, open_database, run_batch
from anvil_trio.operations.driver import Driver, Pace
from anvil_trio.operations.files import ArtifactFiles, FolderUnusable
from anvil_trio.operations.ingest import Keeping
from anvil_trio.operations.model import Capabilities
from anvil_trio.operations.recipe import Registry
from anvil_trio.operations.reconciler import Reconciler
from anvil_trio.operations.registry import MAX_GRAPH_BYTES, REGISTRY_KEY, parse_registry
from anvil_trio.operations.service import OperationService
from anvil_trio.operations.store import Store
from anvil_trio.operations.writer import RunBatch, Writer

__all__ = ["Books", "open_books", "start_operations"]

_READERS = 4
_DATABASE = ConfigProblem(
    "ANVIL_MEDIA_STATE_DB",
    ProblemCode.FILE_UNREADABLE,
    "must name a database that this router wrote and no other router uses, or none yet, in a"
    " directory that can be written to",
)
_FOLDER = ConfigProblem(
    "ANVIL_MEDIA_ARTIFACT_ROOT",
    ProblemCode.FILE_UNREADABLE,
    "must name a directory that can be written to, or none yet",
)
_REGISTRY = ConfigProblem(
    REGISTRY_KEY, ProblemCode.FILE_UNREADABLE, "must name a regular file that can be read"
)


@dataclass(frozen=True, slots=True)
class Books:
    """What was opened: the registry, the database behind its transactions, and the folder."""

    registry: Registry
    run_batch: RunBatch
    files: ArtifactFiles


@contextmanager
def open_books(settings: MediaSettings) -> Iterator[Books]:
    """Everything on disk, for as long as the block lasts; files that no row is about are gone.

    Raises ConfigError, naming the variable and never a path.
    """
    registry = _read_registry(settings)
    try:
        files = ArtifactFiles(settings.artifact_root)
    except FolderUnusable:
        raise ConfigError([_FOLDER]) from None
    try:
        with open_database(settings.state_db) as connection:
            store = Store(connection)
            files.remove_orphans(store.artifact_ids())
            yield Books(registry, partial(run_batch, connection, store), files)
    except DatabaseUnusable:
        raise ConfigError([_DATABASE]) from None


def start_operations(
    actors: Actors,
    books: Books,
    settings: MediaSettings,
    backend: Backend,
    wall_clock: Callable[[], float],
    *,
    writing: Aside | None = None,
    reading: Aside | None = None,
    pace: Pace | None = None,
) -> OperationService:
    """The service, at work from now until the actors end; it takes up what was unfinished."""
    writer = Writer(books.run_batch, writing or Threads(1))
    readers = reading or Threads(_READERS)
    bells = Bells()
    keeping = Keeping(
        files=books.files,
        aside=readers,
        token=secrets.token_urlsafe,
        max_artifact_bytes=settings.max_artifact_bytes,
        max_stored_bytes=settings.max_stored_bytes,
        retention_s=settings.retention_s,
    )
    driver = Driver(writer, backend, books.registry, keeping, bells, wall_clock, pace or Pace())
    reconciler = Reconciler(driver, writer, backend, keeping, bells, wall_clock)
    actors.start(writer)
    actors.start(reconciler)
    return OperationService(
        writer=writer,
        registry=books.registry,
        capabilities=_capabilities(settings, books.registry, backend),
        files=books.files,
        readers=readers,
        bells=bells,
        take=reconciler.take,
        wall_clock=wall_clock,
        token=secrets.token_urlsafe,
    )


def _capabilities(settings: MediaSettings, registry: Registry, backend: Backend) -> Capabilities:
    kinds = {workflow.output_media_type for workflow in registry.workflows}
    return Capabilities(
        backend=backend.name,
        media_types=tuple(sorted(kinds)),
        workflows=len(registry.workflows),
        max_artifact_bytes=settings.max_artifact_bytes,
        max_active=settings.max_active,
        retention_s=settings.retention_s,
    )


def _read_registry(settings: MediaSettings) -> Registry:
    path = settings.workflow_registry
    try:
        data = read_regular(path, MAX_CONFIG_BYTES)
    except (OSError, ValueError):
        raise ConfigError([_REGISTRY]) from None
    needs_graphs = settings.backend_url is not None
    return parse_registry(data, partial(_read_graph, path.parent), needs_graphs=needs_graphs)


def _read_graph(folder: Path, name: str) -> bytes | None:
    try:
        return read_regular(folder / name, MAX_GRAPH_BYTES)
    except (OSError, ValueError):
        return None
