"""`anvil-serving router install-config`: what comes first, and what is told."""

import hashlib
import json

import pytest

from anvil_trio.cli import install
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import main
from tests.unit.topology.toml import RESOURCE_A, ROUTER, topology

CANARY = "private/canary-5417"
LINE = ["router", "install-config", "--dry-run"]
FAILED = "router config install failed: "
ROW = {"state": "admitting", "reason": None, "active_requests": 0, "draining": False}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A router's configuration and its topology, below a path that must not be told."""
    folder = tmp_path / CANARY
    folder.mkdir(parents=True)
    (folder / "router.toml").write_bytes(ROUTER)
    (folder / "operator-topology.toml").write_bytes(topology())
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(folder))
    monkeypatch.setenv("ANVIL_SERVING_NO_HOME_ENV", "1")
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    monkeypatch.delenv("ANVIL_ROUTER_URL", raising=False)
    return folder


class FakeRouter:
    """Notes each question, and may do something before it answers."""

    def __init__(self):
        self.tiers = ["old", "primary"]
        self.questions = []
        self.before = lambda: None

    async def answer(self, question):
        """The status of its tiers."""
        self.questions.append(question)
        self.before()
        return {"tiers": [{"tier_id": name, **ROW} for name in self.tiers]}


@pytest.fixture
def asked(monkeypatch):
    """The router that is asked."""
    router = FakeRouter()
    monkeypatch.setattr(install, "ask_router", router.answer)
    return router


def said(capsys, *arguments):
    """The status of one command line, and what it wrote on stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_a_dry_run_compares_what_is_with_what_would_be(files, asked, capsys):
    """T015: the digest of the capture, and the tiers of the router and of the configuration."""
    line = [*LINE, "--config", files / "router.toml"]
    digest = hashlib.sha256(ROUTER).hexdigest()
    status, out, err = said(capsys, *line, "--json", "--drain-timeout", "0.5")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "ok": True,
        "command": "router install-config",
        "context": None,
        "data": {
            "applied": False,
            "dry_run": True,
            "config_sha256": digest,
            "current_tiers": ["old", "primary"],
            "desired_tiers": ["primary"],
            "drain_timeout": 0.5,
        },
        "warnings": [],
        "error": None,
    }
    (question,) = asked.questions
    assert (question.body, question.query, question.path) == (None, {}, "/v1/admin/transition")
    status, out, err = said(capsys, *line)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "router config install: dry run, nothing was changed",
        f"config_sha256: {digest}",
        "current_tiers: old, primary",
        "desired_tiers: primary",
    ]


def test_a_router_does_not_steer_the_terminal(files, asked, capsys):
    """Names that cannot be printed are not."""
    asked.tiers = ["a\x1b[2J"]
    _status, out, _err = said(capsys, *LINE, "--config", files / "router.toml")
    assert "current_tiers: ?\n" in out


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("router.toml", b"canary", "router_config_invalid"),
        ("operator-topology.toml", b"canary", "topology_invalid"),
        (
            "operator-topology.toml",
            topology(resources=(RESOURCE_A,)),
            "replica_resource_missing",
        ),
        (
            "operator-topology.toml",
            topology(resources=({**RESOURCE_A, "endpoint": None},)),
            "replica_endpoint_missing",
        ),
    ],
)
def test_nobody_is_asked_about_what_cannot_be_installed(files, asked, capsys, name, data, code):
    """T015: a refusal comes before the first question to the router, in its fixed line."""
    (files / name).write_bytes(data)
    line = [*LINE, "--config", files / "router.toml", "--router-url", "http://127.0.0.1:9"]
    assert said(capsys, *line) == (2, "", f"{FAILED}{code}\n")
    status, out, err = said(capsys, *line, "--json")
    assert (status, err) == (2, "")
    envelope = json.loads(out)
    assert (envelope["data"], envelope["error"]["code"]) == (None, code)
    assert "canary" not in out
    assert asked.questions == []


def test_what_is_shown_is_what_was_captured(files, asked, capsys):
    """T015: the file is replaced while the router is asked, and nothing of that is seen."""
    asked.before = lambda: (files / "router.toml").write_bytes(b"other")
    status, out, _err = said(capsys, *LINE, "--config", files / "router.toml")
    assert status == 0
    assert f"config_sha256: {hashlib.sha256(ROUTER).hexdigest()}\n" in out


def test_the_files_stay_as_they_are(files, asked, capsys):
    """A dry run writes nothing."""
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert said(capsys, *LINE, "--config", files / "router.toml")[0] == 0
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_a_router_that_cannot_be_asked_is_its_own_failure(files, capsys, monkeypatch):
    """Status 4 for one that does not answer, 2 for an address that may not be asked."""

    async def silent(_question):
        raise CommandFailed(Failure(Exit.TRANSPORT, "router_unreachable", "x"))

    monkeypatch.setattr(install, "ask_router", silent)
    line = [*LINE, "--config", files / "router.toml"]
    assert said(capsys, *line) == (4, "", f"{FAILED}router_unreachable\n")
    assert said(capsys, *line, "--router-url", f"http://{CANARY}") == (
        2,
        "",
        f"{FAILED}invalid_router_url\n",
    )
    monkeypatch.delenv("ANVIL_ROUTER_TOKEN")
    assert said(capsys, *line) == (2, "", f"{FAILED}router_token_required\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--dry-run"],
        ["--dry-run", "--config"],
        ["--dry-run", "--config", CANARY, "--drain-timeout", "0"],
        ["--dry-run", "--config", CANARY, "--drain-timeout", "3601"],
        ["--dry-run", "--config", CANARY, "--drain-timeout", CANARY],
        ["--dry-run", "--config", CANARY, CANARY],
        ["--dry-run", "--config", CANARY, f"--{CANARY}"],
        ["--dry-run", "--config", CANARY, f"--confirm={CANARY}"],
        ["--dry-run", "--confirm", "--config", CANARY],
        ["--confirm"],
        ["--confirm", "--config", CANARY, f"--restart={CANARY}"],
    ],
    ids=str,
)
def test_a_command_line_that_is_not_valid_is_explained_and_not_repeated(asked, capsys, arguments):
    """R012: status 2, fixed words, and nobody was asked."""
    status, out, err = said(capsys, "router", "install-config", *arguments)
    assert (status, out) == (2, "")
    assert "Error: " in err
    assert "canary" not in err
    assert asked.questions == []
