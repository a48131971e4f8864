"""The database: what a start needs of it, and what is answered where it fails."""

import sqlite3
from pathlib import Path

import outcome
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from anvil_trio.actors.supervise import open_actors
from anvil_trio.config.problems import ConfigError
from anvil_trio.operations.database import DatabaseFault, open_database, run_batch
from anvil_trio.operations.files import ArtifactFiles, FolderUnusable
from anvil_trio.operations.model import Refusal, RefusalCode
from anvil_trio.operations.opening import open_books
from anvil_trio.operations.store import Store
from anvil_trio.operations.writer import BATCH, Writer
from tests.operations.stage import ME, Scripted, ask, here, open_service, settings, submitted

NOT_OURS = (
    "ANVIL_MEDIA_STATE_DB: must name a database that this router wrote and no other router uses, or"
    " none yet, in a directory that can be written to"
)
NO_FOLDER = "ANVIL_MEDIA_ARTIFACT_ROOT: must name a directory that can be written to, or none yet"
NO_REGISTRY = "ANVIL_MEDIA_WORKFLOW_REGISTRY: must name a regular file that can be read"


def told(folder: Path, **changes: object) -> str:
    """Why the service cannot be opened."""
    with pytest.raises(ConfigError) as caught, open_books(settings(folder, **changes)):
        pass
    return str(caught.value)


def test_one_router_uses_a_database(tmp_path: Path) -> None:
    """A second one is refused at its start, and may have it once the first has ended."""
    with open_books(settings(tmp_path)):
        assert told(tmp_path) == NOT_OURS
    with open_books(settings(tmp_path)):
        pass


def test_a_database_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    """Its tables may mean something else."""
    path = tmp_path / "db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert told(tmp_path, state_db=path) == NOT_OURS


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    """And so is one whose folder cannot be made."""
    path = tmp_path / "db"
    path.write_bytes(b"words " * 1000)
    assert told(tmp_path, state_db=path) == NOT_OURS
    assert path.read_bytes().startswith(b"words")
    assert told(tmp_path, state_db=path / "below") == NOT_OURS
    assert told(tmp_path, state_db=tmp_path) == NOT_OURS


def test_the_folder_and_the_registry_must_be_there(tmp_path: Path) -> None:
    """Or be made; no message names a path."""
    (tmp_path / "file").touch()
    assert told(tmp_path, artifact_root=tmp_path / "file") == NO_FOLDER
    assert told(tmp_path, workflow_registry=tmp_path / "nothing") == NO_REGISTRY
    (tmp_path / "bad.toml").write_text("schema_version = 1")
    assert "workflows: must name" in told(tmp_path, workflow_registry=tmp_path / "bad.toml")


def test_a_graph_is_read_beside_the_registry(tmp_path: Path) -> None:
    """One that is not there is told by its key."""
    registry = tmp_path / "workflows.toml"
    registry.write_text(
        'schema_version = 1\n[[workflows]]\nid = "a"\nversion = "1"\ntitle = "A"\n'
        'graph = "graph.json"\n'
    )
    url = "http://127.0.0.1:8188"
    assert ".workflows[0].graph: must name" in told(tmp_path, backend_url=url)
    (tmp_path / "graph.json").write_text('{"1": {"class_type": "A", "inputs": {}}}')
    with open_books(settings(tmp_path, backend_url=url)) as books:
        assert len(books.registry.workflows) == 1


def test_what_is_kept_is_its_owners_alone(tmp_path: Path) -> None:
    """The database, what stands beside it, and the folder of artifacts."""
    with open_books(settings(tmp_path)):
        names = list((tmp_path / "state").iterdir())
        assert names
        assert {path.stat().st_mode & 0o777 for path in names} == {0o600}
        assert (tmp_path / "artifacts").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_written_to_is_unusable(tmp_path: Path) -> None:
    """Found at start, not with the first artifact."""
    with pytest.raises(FolderUnusable):
        ArtifactFiles(tmp_path / "null\0character")


def test_one_call_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    """What it had changed is undone; the others are on the disk."""
    with open_database(tmp_path / "db") as connection:
        store = Store(connection)
        connection.execute("CREATE TABLE seen (word TEXT)")

        def write(word: str, *, is_bug: bool = False) -> str:
            connection.execute("INSERT INTO seen VALUES (?)", (word,))
            if is_bug:
                raise RuntimeError
            return word

        first, second, third = run_batch(
            connection,
            store,
            [
                lambda _: write("a"),
                lambda _: write("b", is_bug=True),
                lambda _: write("c"),
            ],
        )
        assert first == outcome.Value("a")
        assert isinstance(second, outcome.Error)
        assert isinstance(second.error, RuntimeError)
        assert third == outcome.Value("c")
        rows = connection.execute("SELECT word FROM seen").fetchall()
        assert [row["word"] for row in rows] == ["a", "c"]


def test_a_database_that_fails_is_believed_in_nothing(tmp_path: Path) -> None:
    """Every call of the batch is refused, and what it changed undone."""
    with open_database(tmp_path / "db") as connection:
        store = Store(connection)
        connection.execute("CREATE TABLE seen (word TEXT)")

        def write(_: Store) -> None:
            connection.execute("INSERT INTO seen VALUES ('a')")

        outcomes = run_batch(
            connection, store, [write, lambda _: connection.execute("SELECT * FROM nothing")]
        )
        for each in outcomes:
            assert isinstance(each, outcome.Error)
            assert isinstance(each.error, DatabaseFault)
        assert connection.execute("SELECT count(*) FROM seen").fetchone()[0] == 0


def test_a_database_that_cannot_even_begin_refuses_everybody(tmp_path: Path) -> None:
    """There is nothing to undo then."""
    with open_database(tmp_path / "db") as connection:
        store = Store(connection)
    (found,) = run_batch(connection, store, [lambda book: book.used_bytes()])
    assert isinstance(found, outcome.Error)
    assert isinstance(found.error, DatabaseFault)


async def test_where_the_database_fails_the_service_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Every question is refused as unavailable, a listener's feed ends, and nothing is raised."""
    unavailable = Refusal(RefusalCode.UNAVAILABLE)
    async with open_service(tmp_path, Scripted()) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        async with service.events(ME, operation.id) as feed:
            assert not isinstance(feed, Refusal)
            service._writer.close()
            assert [event async for event in feed] == []
        assert await service.operation(ME, operation.id) == unavailable
        assert await service.census() == []
        assert await service.cancel(ME, operation.id) == unavailable
        assert await service.submit(ME, ask("other")) == unavailable
        assert await service.artifact(ME, "art_" + "a" * 32) == unavailable
        async with service.events(ME, operation.id) as feed:
            assert feed == unavailable


async def test_a_writer_that_has_a_bug_refuses_everybody(autojump_clock: MockClock) -> None:
    """Those who wait, and those who come later; it is told of once."""
    told = list[str]()

    def bug(calls: list[object]) -> list[outcome.Outcome[object]]:
        raise RuntimeError

    async def asking(writer: Writer) -> None:
        with pytest.raises(DatabaseFault):
            await writer.ask(lambda _: None)

    async with open_actors(lambda name, _: told.append(name)) as actors:
        writer = Writer(bug, here)  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            for _ in range(BATCH + 5):
                nursery.start_soon(asking, writer)
            await wait_all_tasks_blocked()
            actors.start(writer)
        await asking(writer)
        assert told == ["operations"]


async def test_whoever_asks_at_the_same_moment_shares_a_transaction(
    autojump_clock: MockClock,
) -> None:
    """A bounded one, without those who have left."""
    batches = list[int]()

    def run(calls: list[object]) -> list[outcome.Outcome[object]]:
        batches.append(len(calls))
        return [outcome.Value(None) for _ in calls]

    async with open_actors(lambda *_: None) as actors:
        writer = Writer(run, here)  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            for _ in range(BATCH + 5):
                nursery.start_soon(writer.ask, lambda _: None)
            with trio.move_on_after(1):
                await writer.ask(lambda _: None)
            actors.start(writer)
        assert sum(batches) == BATCH + 5
        assert len(batches) == 2


async def test_what_was_asked_before_the_end_is_still_answered(autojump_clock: MockClock) -> None:
    """A writer that is closed reads its mailbox empty."""
    done = list[str]()

    def run(calls: list[object]) -> list[outcome.Outcome[object]]:
        return [outcome.Value("answer") for _ in calls]

    async def asking(writer: Writer) -> None:
        done.append(await writer.ask(lambda _: "x"))

    async with trio.open_nursery() as nursery:
        async with open_actors(lambda *_: None) as actors:
            writer = Writer(run, here)  # type: ignore[arg-type]
            nursery.start_soon(asking, writer)
            await wait_all_tasks_blocked()
            actors.start(writer)
    assert done == ["answer"]
