"""`anvil-serving topology`, as it is called: real command lines over real files."""

import hashlib
import json
import os

import pytest

from anvil_trio.cli import topology as command
from anvil_trio.cli.main import main
from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.topology import snapshot
from tests.unit.topology.toml import RESOURCE_A, ROUTER, topology

CANARY = "private/canary-5417"
LEAF = ["topology", "validate-router-config"]
REFUSED = "router config topology refused: "
PRIVATE = ("canary", "private", "127.0.0.1", "host-one", "resource-a", "member-a", "ENGINE_KEY")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A directory with a router, its topology at home, and a canary in every path."""
    folder = tmp_path / CANARY
    folder.mkdir(parents=True)
    (folder / "router.toml").write_bytes(ROUTER)
    (folder / "operator-topology.toml").write_bytes(topology())
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def said(capsys, *arguments):
    """The status of one command line, and what it wrote on stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def refused(capsys, *arguments):
    """The code of a line that must be refused, and the digest that was told; nothing else is."""
    status, out, err = said(capsys, *LEAF, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(REFUSED)
    assert err.endswith("\n")
    assert err.count("\n") == 1
    code = err.removeprefix(REFUSED).strip()
    status, out, as_json = said(capsys, *LEAF, *arguments, "--json")
    assert (status, as_json) == (2, "")
    envelope = json.loads(out)
    assert envelope["data"]["error_code"] == envelope["error"]["code"] == code
    assert [word for word in PRIVATE if word in err + out] == []
    return code, envelope["data"]["config_sha256"]


def test_a_valid_router_is_one_line(files, capsys):
    """T014: counts on stdout, status 0; the topology is found in the operator's home."""
    assert said(capsys, *LEAF, "--config", files / "router.toml") == (
        0,
        "router config topology valid: tiers=1 replica_tiers=1 replica_members=2\n",
        "",
    )


def test_a_valid_router_in_json_is_this_line(files, capsys):
    """T014: compact, keys sorted, context null, the nine keys as data."""
    status, out, err = said(capsys, *LEAF, "--json", f"--config={files / 'router.toml'}")
    digest = hashlib.sha256(ROUTER).hexdigest()
    assert (status, err) == (0, "")
    assert out == (
        '{"command":"topology validate-router-config","context":null,"data":{"config_sha256":"'
        f'{digest}","deployment_identity_source":"declared","error_code":null,'
        '"replica_member_count":2,"replica_tier_count":1,'
        '"runtime_deployment_identity_verified":false,'
        '"schema_version":"replica-topology-validation/v1","tier_count":1,"valid":true},'
        '"error":null,"ok":true,"warnings":[]}\n'
    )


def test_a_refusal_in_json_is_this_line(files, capsys):
    """T014: the same keys, and an error of class usage without details."""
    status, out, err = said(capsys, *LEAF, "--json")
    assert (status, err) == (2, "")
    assert out == (
        '{"command":"topology validate-router-config","context":null,"data":{"config_sha256":null,'
        '"deployment_identity_source":null,"error_code":"router_config_invalid",'
        '"replica_member_count":null,"replica_tier_count":null,'
        '"runtime_deployment_identity_verified":false,'
        '"schema_version":"replica-topology-validation/v1","tier_count":null,"valid":false},'
        '"error":{"class":"usage","code":"router_config_invalid","details":{},'
        '"message":"The arguments or the configuration are not valid."},"ok":false,"warnings":[]}\n'
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [CANARY],
        ["--config"],
        ["--config", ""],
        [f"--config={CANARY}", f"--config={CANARY}"],
        ["--config", CANARY, "--topology"],
        ["--config", CANARY, "--topology", ""],
        ["--config", CANARY, "--topology-overlay"],
        ["--config", CANARY, "--topology", CANARY, "--topology", CANARY],
        ["--config", CANARY, f"--{CANARY}"],
        ["--config", CANARY, f"--{CANARY}={CANARY}"],
        ["--config", CANARY, f"-{CANARY}"],
        ["--config", CANARY, CANARY],
        [CANARY, "--config", CANARY],
        ["--config", CANARY, "--", CANARY],
        ["--config", CANARY, f"--json={CANARY}"],
        ["--conf", CANARY],
        ["--help", CANARY],
        ["--config", CANARY, "--help"],
    ],
    ids=str,
)
def test_arguments_that_are_not_valid_are_a_refusal(files, capsys, monkeypatch, arguments):
    """T014: `router_config_invalid` before any file is looked at, whatever is wrong with them."""
    monkeypatch.setattr(command, "capture_snapshot", None)
    assert refused(capsys, *arguments) == ("router_config_invalid", None)


def test_a_second_json_is_refused_in_json(files, capsys):
    """Who asks twice for an object gets one."""
    status, out, err = said(capsys, *LEAF, "--config", CANARY, "--json", "--json")
    assert (status, err) == (2, "")
    assert json.loads(out)["error"]["code"] == "router_config_invalid"


@pytest.mark.parametrize("position", range(2))
@pytest.mark.parametrize("word", [CANARY, f"--{CANARY}", f"--topology={CANARY}", "--json"])
def test_a_word_before_the_command_is_explained_and_not_repeated(files, capsys, position, word):
    """T014: wherever else on the line a private word stands, nothing of it is told."""
    line = [*LEAF, "--config", CANARY]
    line.insert(position, word)
    status, out, err = said(capsys, *line)
    assert (status, out) == (2, "")
    assert [private for private in PRIVATE if private in err] == []


def change(files, name, data):
    """Replace one of the files; `None` takes it away."""
    path = files / name
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)


DIGEST = hashlib.sha256(ROUTER).hexdigest()
ODD = b"private-canary = ["


@pytest.mark.parametrize(
    ("name", "data", "code", "digest"),
    [
        ("router.toml", None, "router_config_invalid", None),
        ("router.toml", ODD, "router_config_invalid", hashlib.sha256(ODD).hexdigest()),
        ("router.toml", b"#" * (MAX_CONFIG_BYTES + 1), "config_too_large", None),
        ("operator-topology.toml", None, "topology_invalid", DIGEST),
        ("operator-topology.toml", ODD, "topology_invalid", DIGEST),
        ("operator-topology.toml", b"#" * (MAX_CONFIG_BYTES + 1), "topology_invalid", DIGEST),
        (
            "operator-topology.toml",
            topology(resources=(RESOURCE_A,)),
            "replica_resource_missing",
            DIGEST,
        ),
    ],
)
def test_each_kind_of_file_that_is_refused(files, capsys, name, data, code, digest):
    """T014: status 2, the code, and the digest where a whole configuration was captured."""
    change(files, name, data)
    assert refused(capsys, "--config", files / "router.toml") == (code, digest)


@pytest.mark.parametrize("option", ["--config", "--topology", "--topology-overlay"])
def test_a_pipe_or_a_device_is_refused_at_once(files, capsys, option):
    """T014: nothing waits for a writer, and a device has no end."""
    os.mkfifo(files / "pipe")
    paths = {"--config": files / "router.toml"}
    expected = "router_config_invalid" if option == "--config" else "topology_invalid"
    for path in (files / "pipe", "/dev/zero", files, f"{files}/a\0b"):
        words = [word for pair in {**paths, option: path}.items() for word in pair]
        code, _digest = refused(capsys, *words)
        assert code == expected


def test_an_overlay_is_merged(files, capsys):
    """T014: it decides like the rest of the topology."""
    (files / "overlay").write_bytes(
        b'[[resources]]\nid = "resource-a"\nendpoint = "http://[::1]"\n'
    )
    words = ("--config", files / "router.toml", "--topology-overlay", files / "overlay")
    assert refused(capsys, *words) == ("replica_endpoint_mismatch", DIGEST)


def test_the_command_asks_the_one_validator(files, capsys, monkeypatch):
    """T014: without the join a broken topology would pass, and its own files are not written."""
    change(files, "operator-topology.toml", topology(resources=(RESOURCE_A,)))
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    monkeypatch.setattr(snapshot, "check_join", lambda *_: None)
    status, out, _err = said(capsys, *LEAF, "--config", files / "router.toml")
    assert (status, out.split(":")[0]) == (0, "router config topology valid")
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_a_capture_is_not_changed_by_what_happens_on_disk(files):
    """R004: the file is replaced after the capture, and the snapshot holds what was validated."""
    found = command.capture_snapshot(str(files / "router.toml"), None, None)
    change(files, "router.toml", ROUTER.replace(b"8001", b"9999"))
    change(files, "operator-topology.toml", None)
    assert isinstance(found, snapshot.Snapshot)
    assert found.source == ROUTER
    assert found.sha256 == DIGEST


def test_the_leaf_explains_itself(capsys):
    """Its four options; only where --help stands alone."""
    status, out, err = said(capsys, *LEAF, "--help")
    assert (status, err) == (0, "")
    for option in ("--config", "--topology", "--topology-overlay", "--json"):
        assert f"  {option} " in out


def test_a_directory_that_is_gone_is_a_refusal(files, capsys, monkeypatch):
    """A path cannot be taken from where one no longer is."""
    gone = files / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert refused(capsys, "--config", "router.toml") == ("router_config_invalid", None)


def test_a_topology_is_shown(files, capsys):
    """Lines for people, one object for machines."""
    status, out, err = said(capsys, "topology", "show")
    assert (status, err) == (0, "")
    assert out.startswith("topology lab\ncapacity_policies: models")
    status, out, err = said(capsys, "topology", "show", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["data"]["id"] == "lab"
    assert "127.0.0.1" not in out


def test_a_topology_is_validated(files, capsys):
    """By itself, without a router."""
    assert said(capsys, "topology", "validate") == (0, "topology valid\n", "")
    status, out, _err = said(capsys, "topology", "validate", "--json")
    assert (status, json.loads(out)["data"]) == (0, {"valid": True, "errors": []})


@pytest.mark.parametrize("leaf", ["show", "validate"])
def test_the_problems_of_a_topology_are_told(files, capsys, leaf):
    """Each on a line of stderr, by its key path; status 2."""
    change(files, "operator-topology.toml", topology("private-canary = 1", head='id = "lab"'))
    status, out, err = said(capsys, "topology", leaf)
    assert (status, out) == (2, "")
    assert err == "private-canary: is not a known key\nschema_version: is required\n"
    status, out, err = said(capsys, "topology", leaf, "--json")
    assert (status, err) == (2, "")
    assert json.loads(out)["error"]["code"] == "topology_invalid"
    change(files, "operator-topology.toml", None)
    status, out, err = said(capsys, "topology", leaf)
    assert (status, out, err) == (2, "", "the topology or its overlay cannot be read\n")


def test_a_validation_lists_the_problems_in_json(files, capsys):
    """Path, message and code of each."""
    change(files, "operator-topology.toml", topology(head='id = "lab"'))
    _status, out, _err = said(capsys, "topology", "validate", "--json")
    assert json.loads(out)["data"] == {
        "valid": False,
        "errors": [{"path": "schema_version", "message": "is required", "code": "required"}],
    }


@pytest.mark.parametrize("leaf", ["show", "validate"])
def test_usage_errors_of_the_others_are_fixed_words(files, capsys, leaf):
    """The same renderer as everywhere (R012)."""
    for words in ([CANARY], [f"--{CANARY}"], ["--topology"], [f"--json={CANARY}"]):
        status, out, err = said(capsys, "topology", leaf, *words)
        assert (status, out) == (2, "")
        assert "canary" not in err
        assert "Error: " in err
