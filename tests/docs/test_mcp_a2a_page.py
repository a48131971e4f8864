"""docs/mcp-a2a.md: its tables say what the code does, and its lines work against the demo."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.media.a2a_requests import UNSUPPORTED
from anvil_trio.media.a2a_tasks import TASK_STATES
from anvil_trio.media.json_rpc import RpcCode
from anvil_trio.media.mcp_manner import VERSIONS
from anvil_trio.media.mcp_tools import TOOLS
from anvil_trio.web.router import ROUTES, Pool
from tests.house.tree import ROOT
from tests.wire.demo.commands import running

PAGE = (ROOT / "docs" / "mcp-a2a.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())


def block(name: str) -> str:
    """The code below a marker comment."""
    (found,) = re.findall(rf"<!-- try: {name} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_paths_are_those_of_the_table() -> None:
    """Every route of the media surfaces, and no other."""
    rows = re.findall(r"^\| `(\w+) (/[^`]*)` \|", PAGE, re.MULTILINE)
    media = {key for key, route in ROUTES.items() if route.pool is Pool.MEDIA}
    assert {(method, path) for method, path in rows} == media


def test_the_tools_are_those_of_the_table() -> None:
    """Each with its scope and all of its arguments."""
    rows = re.findall(r"^\| `(media_\w+)` \| `([\w:]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert [(name, scope) for name, scope, _ in rows] == [
        (one.name, one.scope.value) for one in TOOLS.values()
    ]
    for name, _, text in rows:
        named = set(re.findall(r"`(\w+)`", text))
        asked = {one.name for one in TOOLS[name].arguments}
        assert named == asked or name == "media_workflow_validate"


def test_the_states_are_those_of_the_table() -> None:
    """Every state of a job stands beside its state of a task."""
    rows = re.findall(r"^\| (`TASK_STATE_.*`) \| (.*) \|$", PAGE, re.MULTILINE)
    told = set()
    for left, right in rows:
        theirs, ours = re.findall(r"`(\w+)`", left), re.findall(r"`(\w+)`", right)
        whole = theirs * len(ours) if len(theirs) == 1 else theirs
        told |= set(zip(ours, whole, strict=True))
    assert told == {(state.value, word) for state, word in TASK_STATES.items()}


def test_every_number_is_explained() -> None:
    """Those of JSON-RPC, of MCP, of A2A and our own; every version is named."""
    told = {int(one) for one in re.findall(r"^\| (-\d+) \|", PAGE, re.MULTILINE)}
    assert told == {int(code) for code in RpcCode}
    assert all(f"`{version}`" in FLAT for version in VERSIONS)
    assert UNSUPPORTED


@pytest.fixture(scope="module")
def demo():
    """A demo that serves; its address and key."""
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    with running("demo") as demo:
        line = demo.lines_until("curl ")[-1]
        url = re.search(r"http://[\d.:]+", line)
        key = re.search(r"Bearer (\w+)", line)
        assert url is not None
        assert key is not None
        yield {"URL": url[0], "KEY": key[1]}
        status, _, said = demo.ended()
        assert (status, said) == (0, "")


def tried(command: list[str], demo: dict[str, str], folder: Path) -> bytes:
    """What a command prints that knows the demo's address and key."""
    done = subprocess.run(
        command,
        env={**os.environ, **demo},
        cwd=folder,
        capture_output=True,
        timeout=50,
        check=True,
    )
    assert not done.stderr, done.stderr
    return done.stdout


def replies(out: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC in what curl printed, one after the other with or without a line end."""
    return [
        json.loads(one) for one in re.findall(r'\{"jsonrpc".*?(?=\{"jsonrpc"|\n|$)', out.decode())
    ]


@pytest.mark.wire
def test_the_lines_of_mcp_work(demo, tmp_path) -> None:
    """Eight tools and a job."""
    listed, ran = replies(tried(["sh", "-c", block("mcp")], demo, tmp_path))
    assert len(listed["result"]["tools"]) == len(TOOLS)
    assert ran["result"]["structuredContent"]["state"] == "accepted"


@pytest.mark.wire
def test_the_lines_of_a2a_work(demo, tmp_path) -> None:
    """A task that has ended, and the events of another."""
    found = replies(tried(["sh", "-c", block("a2a")], demo, tmp_path))
    assert found[0]["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    last = found[-1]["result"]["statusUpdate"]["status"]["state"]
    assert last == "TASK_STATE_COMPLETED"


@pytest.mark.wire
def test_the_lines_for_an_artifact_work(demo, tmp_path) -> None:
    """A picture, and three of its bytes."""
    assert tried(["sh", "-c", block("artifact")], demo, tmp_path) == b"PNG"
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.wire
def test_the_client_works(demo, tmp_path) -> None:
    """It prints the workflow, and where the picture is."""
    out = tried([sys.executable, "-c", block("client")], demo, tmp_path).decode().split()
    assert out[:2] == ["picture.discs", "completed"]
    assert out[2].startswith(f"{demo['URL']}/artifacts/art_")
