"""The policy and its credentials as files and variables; everything below a temporary directory."""

import os
from pathlib import Path

import pytest

from anvil_trio.config.load import resolve_secrets, with_policy
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.config.policy import MAX_POLICY_BYTES, ClientCredential, ClientScope
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.protected import read_protected
from anvil_trio.names import ClientId
from tests.unit.config.policy_text import client, in_file, policy
from tests.unit.config.toml import config

AT = "server.authorization_policy_path"
OPERATOR = "operator-token-0123456789"
KEY = "desktop-key-0123456789"
PROTECTED = "a regular file that can be read, by an absolute path without a symbolic link in it"
FIT = "a credential of 16 to 4096 bytes of UTF-8 without control characters"
UNUSABLE_ENV = f"{AT}.clients[0].credential_env: must name a variable that holds {FIT}"
UNUSABLE_FILE = f"{AT}.clients[0].credential_file: must name {PROTECTED}, that holds {FIT}"
UNREADABLE = f"{AT}: must name {PROTECTED}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory on whose path no link stands."""
    return tmp_path.resolve()


def configured(path: object) -> RouterConfig:
    """A configuration that names a policy."""
    lines = ('auth_env = "ROUTER_TOKEN"', f'authorization_policy_path = "{path}"')
    return parse_config(config(server=lines).encode())


def clients(home: Path, data: bytes, **environ: str) -> tuple[ClientCredential, ...]:
    """The clients with which a router would start."""
    (home / "policy.json").write_bytes(data)
    environ = {"HOME": str(home), "ROUTER_TOKEN": OPERATOR, **environ}
    return resolve_secrets(configured("~/policy.json"), environ).clients


def refusal(home: Path, data: bytes, **environ: str) -> str:
    """Why it would not start."""
    with pytest.raises(ConfigError) as caught:
        clients(home, data, **environ)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert str(home) not in message
    assert not {"canary", KEY, OPERATOR, "DESKTOP", "desktop"} & set(message.split())
    return message


def test_credentials_come_from_variables_and_files(home: Path) -> None:
    """Blanks round a credential are removed; `.env` files are asked as for any other secret."""
    (home / "key").write_text(f"  {KEY} in a file\n")
    (home / ".env").write_text("OTHER_KEY=another-key-0123456789\n")
    data = policy(client(), in_file(home / "key", "b"), client("other", scopes=["workloads:read"]))
    use, read = frozenset({ClientScope.INFERENCE_USE}), frozenset({ClientScope.WORKLOADS_READ})
    assert clients(home, data, DESKTOP_KEY=f"\t{KEY} ") == (
        ClientCredential(ClientId("desktop"), use, KEY),
        ClientCredential(ClientId("b"), use, f"{KEY} in a file"),
        ClientCredential(ClientId("other"), read, "another-key-0123456789"),
    )


def test_without_a_policy_there_are_no_clients(home: Path) -> None:
    """Only the operator's token counts then."""
    parsed = parse_config(config(server=['auth_env = "ROUTER_TOKEN"']).encode())
    assert resolve_secrets(parsed, {"HOME": str(home), "ROUTER_TOKEN": OPERATOR}).clients == ()


@pytest.mark.parametrize("size", [16, 4096])
def test_a_credential_has_16_to_4096_bytes(home: Path, size: int) -> None:
    """Bytes of UTF-8 are counted, not characters."""
    (found,) = clients(home, policy(client()), DESKTOP_KEY="\u00e9" * (size // 2))
    assert len(found.credential.encode()) == size


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x" * 15,
        "x" * 15 + " ",
        "\u00e9" * 7 + "x",
        "x" * 4097,
        "x" * 20 + "\x7f" + "x",
        "x" * 20 + "\x85" + "x",
        "x" * 20 + "\n" + "x",
        "x" * 20 + "\udcff",
    ],
)
def test_an_unfit_credential_refuses_the_start(home: Path, value: str) -> None:
    """Too short, too long, a control character inside, no UTF-8: told by its place alone."""
    assert refusal(home, policy(client()), DESKTOP_KEY=value) == UNUSABLE_ENV
    (home / "key").write_bytes(value.encode(errors="surrogateescape"))
    assert refusal(home, policy(in_file(home / "key"))) == UNUSABLE_FILE


def test_a_variable_that_is_not_set_refuses_the_start(home: Path) -> None:
    """The whole policy: no client is left out in silence."""
    assert refusal(home, policy(client("b"), client()), B_KEY=KEY) == UNUSABLE_ENV.replace(
        "[0]", "[1]"
    )


def test_a_credential_file_is_bounded(home: Path) -> None:
    """However many blanks stand round the credential, 8192 bytes are the most that is read."""
    (home / "key").write_text(KEY + " " * (8192 - len(KEY)))
    assert clients(home, policy(in_file(home / "key")))[0].credential == KEY
    (home / "key").write_text(KEY + " " * (8193 - len(KEY)))
    assert refusal(home, policy(in_file(home / "key"))) == UNUSABLE_FILE


def test_credentials_differ_from_each_other_and_from_the_operators_token(home: Path) -> None:
    """Two clients with one credential would be one, and no client may be the operator."""
    (home / "key").write_text(KEY)
    data = policy(client(), in_file(home / "key", "b"), client("c"))
    assert refusal(home, data, DESKTOP_KEY=KEY, C_KEY=f" {OPERATOR} ").splitlines() == [
        f"{AT}.clients[1].credential_file: must not lead to the credential of another client",
        f"{AT}.clients[2].credential_env: must not lead to the operator's token",
    ]


def test_a_policy_that_breaks_a_rule_refuses_the_start(home: Path) -> None:
    """Nothing of it is used, and its credentials are not looked for."""
    assert refusal(home, policy(client(scopes=[]))) == (
        f"{AT}.clients[0].scopes: must be an array of different scopes, at least one, out of:"
        " inference:use, workloads:read"
    )


def test_a_policy_above_64_kib_is_refused(home: Path) -> None:
    """One byte more is read, to see that there is one."""
    text = policy()
    assert clients(home, text + b" " * (MAX_POLICY_BYTES - len(text))) == ()
    assert refusal(home, text + b" " * (MAX_POLICY_BYTES - len(text) + 1)) == (
        f"{AT}: must name a file of at most 65536 bytes"
    )


@pytest.mark.parametrize("kind", ["absent", "folder", "fifo", "link", "under a link", "relative"])
def test_only_a_regular_file_by_a_straight_path_is_read(home: Path, kind: str) -> None:
    """No directory, no FIFO (and no waiting for its writer), no link anywhere on the way."""
    (home / "real").mkdir()
    (home / "real" / "file").write_bytes(policy())
    path = home / kind
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(home / "real" / "file")
        case "under a link":
            path.symlink_to(home / "real")
            path /= "file"
        case "relative":
            path = Path("real/file")
    environ = {"HOME": str(home), "ROUTER_TOKEN": OPERATOR}
    with pytest.raises(ConfigError) as caught:
        resolve_secrets(configured(path), environ)
    assert str(caught.value) == UNREADABLE
    with pytest.raises((OSError, ValueError)):
        read_protected(path, 10)
    if kind != "relative":
        assert refusal(home, policy(in_file(path))) == UNUSABLE_FILE


def test_reading_leaves_no_file_open(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each directory on the way is closed again, after success and after failure."""
    (home / "file").write_bytes(b"0123456789")
    opened, closed = [], []
    real_open, real_close = os.open, os.close

    def counting_open(*args, **kwargs):
        opened.append(real_open(*args, **kwargs))
        return opened[-1]

    def counting_close(descriptor):
        closed.append(descriptor)
        real_close(descriptor)

    monkeypatch.setattr(os, "open", counting_open)
    monkeypatch.setattr(os, "close", counting_close)
    assert read_protected(home / "file", 3) == b"0123"
    with pytest.raises(OSError, match="No such file"):
        read_protected(home / "absent", 3)
    with pytest.raises(ValueError, match=r"^$"):
        read_protected(Path("/"), 3)
    monkeypatch.undo()
    assert sorted(opened) == sorted(closed)
    assert opened


def test_the_command_lines_policy_takes_the_place_of_the_files(home: Path) -> None:
    """Relative to the current directory, `~` expanded, with nothing else changed."""
    parsed = configured("/absent.json")
    (home / "policy.json").write_bytes(policy(client()))
    environ = {"HOME": str(home), "ROUTER_TOKEN": OPERATOR, "DESKTOP_KEY": KEY}
    for text, cwd in (("~/policy.json", Path("/")), ("policy.json", home)):
        changed = with_policy(parsed, text, environ, cwd)
        assert [each.client_id for each in resolve_secrets(changed, environ).clients] == ["desktop"]
        assert changed.sha256 == parsed.sha256
        assert changed.tiers == parsed.tiers


def test_a_policy_needs_authentication(home: Path) -> None:
    """On the command line as in the file: without a token everybody would be the operator."""
    with pytest.raises(ConfigError) as caught:
        with_policy(parse_config(config().encode()), "policy.json", {}, home)
    assert str(caught.value) == f"{AT}: needs auth_env"
