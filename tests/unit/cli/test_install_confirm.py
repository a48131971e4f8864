"""`anvil-serving router install-config --confirm`: a file that changes, and every refusal."""

import hashlib
import json

import pytest

from anvil_trio.cli import install_router
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.install_words import explain_code
from anvil_trio.installation.faults import InstallFault
from anvil_trio.installation.journal import HOW_TO_GO_ON
from anvil_trio.installation.lock import hold_lock
from tests.unit.cli.test_install import CANARY, FAILED, said
from tests.unit.installation.test_journal import JOURNAL
from tests.unit.topology.toml import RESOURCE_A, ROUTER, topology

LINE = ["router", "install-config", "--confirm"]
OLD = ROUTER + b"\n# the one before\n"
NEW = ROUTER + b"\r\n# the new one\r\n"
REFUSED = CommandFailed(Failure(Exit.EXECUTION, "activation_requires_restart", "x"))


def digest(data):
    """The sha256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


class HotRouter:
    """Takes up its own file, and answers as a router does; a failure is raised instead."""

    def __init__(self, path):
        self.path, self.work, self.failure = path, OLD, None
        self.questions = []
        self.before = lambda: None

    async def answer(self, question):
        """One answer, as the HTTP client gives it."""
        self.questions.append(question)
        self.before()
        if question.path == "/v1/admin/activate":
            if self.failure is not None:
                raise self.failure
            assert question.body == {"sha256": digest(self.path.read_bytes()), "confirm": True}
            self.work = self.path.read_bytes()
            return {"applied": True, "installed_config_sha256": digest(self.work)}
        if question.path == "/v1/router/status":
            return {"started_at": "then", "installed_config_sha256": digest(self.work)}
        row = {"state": "admitting", "reason": None, "active_requests": 0, "draining": False}
        return {"tiers": [{"tier_id": "primary", "ready": False, **row}]}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An operator's home, below a path that must not be told, with the router's file in it."""
    folder = tmp_path / CANARY
    folder.mkdir(parents=True)
    (folder / "router.toml").write_bytes(OLD)
    (folder / "operator-topology.toml").write_bytes(topology())
    (folder / "new.toml").write_bytes(NEW)
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(folder))
    monkeypatch.setenv("ANVIL_SERVING_NO_HOME_ENV", "1")
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    monkeypatch.delenv("ANVIL_ROUTER_URL", raising=False)
    return folder


@pytest.fixture
def router(home, monkeypatch):
    """The router that is asked."""
    found = HotRouter(home / "router.toml")
    monkeypatch.setattr(install_router, "ask_router", found.answer)
    return found


def line(home, *more):
    """The command about the new configuration."""
    return [*LINE, "--config", home / "new.toml", *more]


def test_a_hot_installation_is_told_in_one_object(home, router, capsys):
    """T015: it is applied, verified, and gap 42: says which tier is not ready."""
    status, out, err = said(capsys, *line(home, "--json"))
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "ok": True,
        "command": "router install-config",
        "context": None,
        "data": {
            "applied": True,
            "dry_run": False,
            "config_sha256": digest(NEW),
            "current_tiers": ["primary"],
            "desired_tiers": ["primary"],
            "drain_timeout": 120.0,
            "way": "hot",
            "installed_config_sha256": digest(NEW),
            "unavailable_tiers": ["primary"],
            "quiesced_tiers": [],
            "restored": None,
            "failed_step": None,
            "cause": None,
        },
        "warnings": [],
        "error": None,
    }
    assert (home / "router.toml").read_bytes() == NEW
    assert (home / "router.toml.bak").read_bytes() == OLD


def test_people_are_told_step_by_step(home, router, capsys):
    """The steps on stderr, the end on stdout, and no path."""
    status, out, err = said(capsys, *line(home))
    assert status == 0
    assert out.splitlines() == [
        "router config install: done",
        f"config_sha256: {digest(NEW)}",
        "way: hot",
        "desired_tiers: primary",
        "unavailable_tiers: primary",
    ]
    assert err.splitlines() == [
        f"router config install: {step}" for step in ("write", "activate", "verify", "readmit")
    ]


def test_a_file_that_is_swapped_after_its_capture_cannot_change_what_is_installed(
    home, router, capsys
):
    """T015: the first question already finds another file there, and the captured bytes go in."""
    router.before = lambda: (home / "new.toml").write_bytes(b"canary")
    status, out, _ = said(capsys, *line(home, "--json"))
    assert (status, json.loads(out)["data"]["config_sha256"]) == (0, digest(NEW))
    assert (home / "router.toml").read_bytes() == router.work == NEW


def test_the_live_path_may_be_told(home, router, capsys):
    """And nothing is written where it is not."""
    router.path = home / "other.toml"
    assert said(capsys, *line(home, "--live-path", home / "other.toml"))[0] == 0
    assert (home / "other.toml").read_bytes() == NEW
    assert (home / "router.toml").read_bytes() == OLD


def test_a_refused_activation_restores_the_old_file(home, router, capsys):
    """T015: `activation_requires_restart` is told as such, and the old configuration serves."""
    router.failure = REFUSED
    status, out, err = said(capsys, *line(home))
    assert (status, out) == (1, "")
    assert err.splitlines()[-2:] == [
        f"{FAILED}activation_requires_restart",
        "The configuration from before is in the router's file and at work.",
    ]
    assert (home / "router.toml").read_bytes() == router.work == OLD
    status, out, _ = said(capsys, *line(home, "--json"))
    envelope = json.loads(out)
    assert (status, envelope["error"]["class"]) == (1, "execution")
    data = envelope["data"]
    assert (data["applied"], data["restored"]) == (False, True)
    assert (data["failed_step"], data["cause"]) == ("activate", "activation_requires_restart")


def test_what_could_not_be_undone_is_another_status(home, router, capsys):
    """Status 4, and words on how to go on; the next dry run warns of it."""
    (home / "router.toml").unlink()
    router.path = home / "new.toml"

    def gone():
        if any(question.path.endswith("activate") for question in router.questions):
            router.work = b"somebody else's"

    router.before, router.failure = gone, REFUSED
    status, out, err = said(capsys, *line(home, "--live-path", home / "live.toml"))
    assert (status, out) == (4, "")
    assert err.splitlines()[-3:] == [
        f"{FAILED}install_not_undone",
        "cause: activation_requires_restart",
        HOW_TO_GO_ON,
    ]
    assert "canary" not in err
    assert (home / "live.toml.install").exists()


@pytest.mark.parametrize("data", [JOURNAL.render(), b"damaged"])
def test_a_dry_run_warns_of_what_was_left_behind(home, router, monkeypatch, capsys, data):
    """Of a journal, whatever it holds; it is still a success."""
    monkeypatch.setattr("anvil_trio.cli.install.ask_router", router.answer)
    (home / "router.toml.install").write_bytes(data)
    dry = ["router", "install-config", "--dry-run", "--config", home / "new.toml"]
    status, out, err = said(capsys, *dry)
    assert (status, err) == (0, f"install_unfinished: {HOW_TO_GO_ON}\n")
    status, out, err = said(capsys, *dry, "--json")
    assert (status, err, json.loads(out)["warnings"]) == (0, "", ["install_unfinished"])


def files(home):
    """All files but locks, which stay when they are given back."""
    found = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path: path.read_bytes() for path in found}


def refused(home, capsys, *more):
    """The status and the code of a line that is refused before its first step, told both ways."""
    before = files(home)
    status, out, err = said(capsys, *line(home, *more))
    assert out == ""
    code = err.removeprefix(FAILED).removesuffix("\n")
    assert err == f"{FAILED}{code}\n"
    again, out, err = said(capsys, *line(home, *more, "--json"))
    envelope = json.loads(out)
    assert (again, err, envelope["data"]) == (status, "", None)
    assert envelope["error"]["code"] == code
    assert "canary" not in out
    assert files(home) == before
    return status, code


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("new.toml", b"canary", "router_config_invalid"),
        ("new.toml", b" " * 1_048_577, "config_too_large"),
        ("operator-topology.toml", b"canary", "topology_invalid"),
        ("operator-topology.toml", topology(resources=(RESOURCE_A,)), "replica_resource_missing"),
        (
            "operator-topology.toml",
            topology(resources=({**RESOURCE_A, "endpoint": None},)),
            "replica_endpoint_missing",
        ),
    ],
)
def test_what_cannot_be_installed_changes_nothing(home, router, capsys, name, data, code):
    """T015: before any question, lock or write, with or without a restart."""
    (home / name).write_bytes(data)
    for more in ((), ("--restart",)):
        assert refused(home, capsys, *more) == (2, code)
    assert router.questions == []
    assert not (home / "locks").exists()


def test_nothing_happens_without_a_confirmation(home, router, capsys):
    """Status 3, and nobody is asked."""
    status, out, err = said(capsys, "router", "install-config", "--config", home / "new.toml")
    assert (status, out, err) == (3, "", f"{FAILED}confirmation_required\n")
    assert router.questions == []


def test_a_restart_needs_a_command(home, router, capsys):
    """And settings that are not valid are refused for both ways."""
    assert refused(home, capsys, "--restart") == (2, "restart_command_required")
    (home / "router-install.toml").write_text('restart_command = "canary"')
    assert refused(home, capsys, "--restart") == (2, "install_settings_invalid")
    assert refused(home, capsys) == (2, "install_settings_invalid")
    assert router.questions == []


def test_a_router_that_cannot_be_asked_is_told_so(home, router, capsys, monkeypatch):
    """By its own codes, as with a dry run."""
    assert refused(home, capsys, "--router-url", f"http://{CANARY}") == (2, "invalid_router_url")
    monkeypatch.delenv("ANVIL_ROUTER_TOKEN")
    assert refused(home, capsys) == (2, "router_token_required")
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    answers: list[dict[str, object]] = [{"tiers": []}, {"started_at": 1}]
    for answer in answers:

        async def strange(_question, answer=answer):
            return answer

        monkeypatch.setattr(install_router, "ask_router", strange)
        assert refused(home, capsys) == (4, "router_response_invalid")


def test_one_command_at_a_time(home, router, capsys):
    """The lock is that of everything that changes what serves."""
    with hold_lock(home):
        assert refused(home, capsys) == (1, "lifecycle_locked")
    assert router.questions == []


@pytest.mark.parametrize(
    ("name", "data", "status", "code"),
    [
        ("router.toml.install", b"canary", 1, "install_journal_unreadable"),
        ("router.toml", b" " * 1_048_577, 2, "live_config_unreadable"),
        ("router.toml.bak", b" " * 1_048_577, 2, "live_config_unreadable"),
    ],
)
def test_files_that_cannot_be_read_are_left_alone(home, router, capsys, name, data, status, code):
    """The router was only looked at."""
    (home / name).write_bytes(data)
    assert refused(home, capsys) == (status, code)


def test_a_restart_command_that_is_not_there_is_told(home, router, capsys, monkeypatch):
    """T015: the tiers were closed and drained, nothing was stopped, and all is as it was."""

    async def answer(question):
        body = question.body or {}
        row: dict[str, object] = {"tier_id": "primary", "state": "admitting", "reason": None}
        row |= {"active_requests": 0, "draining": False, "ready": True}
        match body.get("action"):
            case "quiesce":
                assert body["reason"] == "promotion"
                return {"result": row}
            case "drain":
                return {"result": {"drained": True, "snapshot": row}}
            case "readmit":
                return {"result": {"readmitted": True, "status": {"tiers": [row]}}}
            case _:
                return await router.answer(question)

    monkeypatch.setattr(install_router, "ask_router", answer)
    (home / "router-install.toml").write_text('restart_command = ["/no/such/canary"]')
    status, out, _ = said(capsys, *line(home, "--restart", "--json"))
    data = json.loads(out)["data"]
    assert (status, data["restored"], data["cause"]) == (1, True, "restart_command_failed")
    assert (data["way"], data["failed_step"]) == ("restart", "restart")
    assert (home / "router.toml").read_bytes() == OLD


def test_every_code_has_words():
    """R012: fixed ones, without a place for anything else; only transport codes share theirs."""
    shared = explain_code("router_unreachable").message
    assert all(explain_code(code).message != shared for code in InstallFault)
    assert explain_code("router_unreachable").status is Exit.TRANSPORT
