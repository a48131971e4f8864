"""Approvals from a command, beside a router that is at work or not."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from anvil_trio.cli.main import main
from anvil_trio.operations.approval import approve, find_awaiting
from anvil_trio.operations.database import DatabaseUnusable
from anvil_trio.operations.model import Operation, Refusal, RefusalCode, State
from tests.operations.stage import ME, REGISTRY, Scripted, ask, open_service, seen, submitted, wall

CONFIG = """\
[server]
auth_env = "TOKEN"
media_principal = "studio"
media_scopes = ["media:read"]
media_public_origin = "http://127.0.0.1:8000"
media_backend = "demo"
[router]
"""


def database(folder: Path) -> Path:
    """Where the stage keeps it."""
    return folder / "state" / "operations.sqlite3"


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An operator's home whose router has operations, in the folder of a stage."""
    (tmp_path / "router.toml").write_text(CONFIG)
    (tmp_path / "workflows.toml").write_text(REGISTRY)
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(tmp_path))
    monkeypatch.setenv("TOKEN", "t" * 20)
    monkeypatch.setenv("ANVIL_MEDIA_STATE_DB", str(database(tmp_path)))
    return tmp_path


def run(*words: str) -> int:
    """One command line; its status."""
    with pytest.raises(SystemExit) as ended:
        main(["media", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


async def waiting(folder: Path, backend: Scripted) -> Operation:
    """An operation that awaits approval, and no router."""
    async with open_service(folder, backend) as service:
        submission = ask(workflow_id="picture.checked", parameters={})
        operation = await submitted(service, submission)
        await wait_all_tasks_blocked()
        return operation


async def test_a_router_at_work_takes_an_approval_up(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Although it was written beside it; the events have no gap."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        submission = ask(workflow_id="picture.checked", parameters={})
        operation = await submitted(service, submission)
        await trio.sleep(100)
        (found,) = find_awaiting(database(tmp_path))
        assert found.id == operation.id
        approved = approve(database(tmp_path), operation.id, wall())
        assert isinstance(approved, Operation)
        assert approved.state is State.PREPARING
        assert find_awaiting(database(tmp_path)) == []
        await trio.sleep(6)
        backend.finish()
        assert await seen(service, operation.id) == [
            "accepted",
            "awaiting_approval",
            "preparing",
            "submitting",
            "queued",
            "completed",
        ]


async def test_what_awaits_nothing_is_not_approved(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nor what is not there."""
    async with open_service(tmp_path, Scripted()) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        refused = approve(database(tmp_path), operation.id, wall())
        assert refused == Refusal(RefusalCode.OPERATION_NOT_AWAITING_APPROVAL)
        unknown = approve(database(tmp_path), "op_unknown", wall())
        assert unknown == Refusal(RefusalCode.OPERATION_NOT_FOUND)


@pytest.mark.parametrize("data", [None, b"words " * 1000, b""])
def test_a_visitor_makes_no_database(tmp_path: Path, data: bytes | None) -> None:
    """And leaves alone what is none, or has no tables of this version."""
    path = tmp_path / "db"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DatabaseUnusable):
        find_awaiting(path)
    assert path.exists() == (data is not None)
    if data is not None:
        assert path.read_bytes() == data
    with pytest.raises(DatabaseUnusable):
        find_awaiting(tmp_path / "null\0character")


async def test_a_database_that_somebody_holds_is_not_waited_for_for_ever(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Two seconds, and then it is unusable."""
    operation = await waiting(tmp_path, Scripted())
    with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseUnusable):
            approve(database(tmp_path), operation.id, wall())


def test_a_command_lists_and_approves(at_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Only with --confirm; neither who asked nor what for is shown."""
    clock = MockClock(autojump_threshold=0)
    operation = trio.run(waiting, at_home, Scripted(), clock=clock)
    with pytest.raises(SystemExit) as ended:
        main(["media", "awaiting"])
    assert not ended.value.code
    assert capfd.readouterr().out == f"{operation.id}  picture.checked 1\n"
    assert run("approve", operation.id) == 3
    assert capfd.readouterr().err.startswith("confirmation_required: ")
    assert run("approve", operation.id, "--confirm", "--json") == 0
    said = json.loads(capfd.readouterr().out)
    assert said["ok"]
    assert said["data"]["operation"]["state"] == "preparing"
    assert ME not in json.dumps(said)
    assert run("approve", operation.id, "--confirm") == 1
    assert capfd.readouterr().err.startswith("operation_not_awaiting_approval: ")
    assert run("awaiting") == 0
    assert capfd.readouterr().out == "No operation awaits approval.\n"


def test_what_a_command_cannot_work_on_is_told_in_fixed_words(
    at_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No database, a configuration without operations, and one with a fault."""
    assert run("awaiting") == 1
    assert capfd.readouterr().err.startswith("operations_unavailable: ")
    assert run("approve", "op_x", "--confirm") == 1
    assert capfd.readouterr().err.startswith("operations_unavailable: ")
    plain = at_home / "plain.toml"
    plain.write_text(CONFIG.replace('media_backend = "demo"\n', ""))
    assert run("awaiting", "--config", str(plain)) == 2
    assert "ANVIL_MEDIA_BACKEND_URL: is required" in capfd.readouterr().err
    lines = [line for line in CONFIG.splitlines() if "media" not in line]
    tier = (
        'model_routes = { a = "t" }\n[[router.tiers]]\nid = "t"\ndialect = "openai"\n'
        'privacy = "local"\ntool_support = true\nauth_env = "KEY"\n'
        'base_url = "http://127.0.0.1:1/v1"\ncontext_limit = 1\n'
    )
    plain.write_text("\n".join([*lines, tier]))
    assert run("awaiting", "--config", str(plain)) == 2
    assert capfd.readouterr().err.startswith("media_not_configured: ")
