"""Where the configuration and its secrets are found; files below a temporary directory only."""

import os
from pathlib import Path
from threading import Thread

import pytest

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.load import (
    check_tls_files,
    config_path,
    current_folder,
    expand_path,
    load_config,
    read_config,
    resolve_secret,
    resolve_secrets,
    topology_path,
)
from anvil_trio.config.model import ServerSettings
from anvil_trio.config.parse import parse_config
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.source import ConfigSource
from tests.unit.config.toml import config, direct

TOKEN = ['auth_env = "ROUTER_TOKEN"']


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with the operator's home in it."""
    (tmp_path / ".anvil-serving").mkdir()
    return tmp_path


def env(home: Path, **more: str) -> dict[str, str]:
    """The environment of a process of that user."""
    return {"HOME": str(home), **more}


def refusal(call, *args: object) -> str:
    """The whole message of what `call` refuses."""
    with pytest.raises(ConfigError) as caught:
        call(*args)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_a_path_that_was_told_is_taken_as_it_is(home: Path) -> None:
    """Relative to the current directory, whether or not there is a file."""
    cwd = home / "work"
    assert config_path("a/router.toml", env(home), cwd) == cwd / "a/router.toml"
    assert config_path("/a/router.toml", env(home), cwd) == Path("/a/router.toml")


def test_a_tilde_stands_for_the_users_home(home: Path) -> None:
    """At the beginning, alone or before a slash, and nowhere else."""
    assert config_path("~/router.toml", env(home), Path("/")) == home / "router.toml"
    assert expand_path("~", env(home)) == home
    assert expand_path("a/~/b", env(home)) == Path("a/~/b")
    assert expand_path("~other", env(home)) == Path("~other")
    assert expand_path("~", {}) == expand_path("~", {"HOME": ""}) == Path.home()


def test_a_user_whom_the_machine_does_not_know_has_a_home_without_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command then finds no file, and says so."""

    def unknown() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", unknown)
    assert not expand_path("~", {}).exists()


def test_a_directory_that_was_taken_away_is_where_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths that are told as a whole are of use all the same."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert current_folder() == gone
    gone.rmdir()
    assert not (current_folder() / "router.toml").exists()
    assert current_folder() / tmp_path == tmp_path


def test_the_operators_home_comes_before_the_current_directory(home: Path) -> None:
    """~/.anvil-serving/router.toml if there is one, else ./router.toml."""
    cwd = home / "work"
    assert config_path(None, env(home), cwd) == cwd / "router.toml"
    at_home = home / ".anvil-serving" / "router.toml"
    at_home.write_text("")
    assert config_path(None, env(home), cwd) == at_home


def test_the_operators_home_can_be_set(home: Path) -> None:
    """$ANVIL_SERVING_HOME replaces the default; set to nothing it does not count."""
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "router.toml").write_text("")
    (home / ".anvil-serving" / "router.toml").write_text("")
    for value in (str(elsewhere), "~/elsewhere", "elsewhere"):
        found = config_path(None, env(home, ANVIL_SERVING_HOME=value), home)
        assert found == elsewhere / "router.toml"
    found = config_path(None, env(home, ANVIL_SERVING_HOME=""), home)
    assert found == home / ".anvil-serving" / "router.toml"


def test_a_file_is_read_to_one_byte_above_its_bound(home: Path) -> None:
    """That byte shows the overflow; no more is ever read."""
    path = home / "router.toml"
    path.write_bytes(b"#" * (MAX_CONFIG_BYTES + 5))
    assert len(read_config(path)) == MAX_CONFIG_BYTES + 1
    assert refusal(load_config, path) == "the file is above 1048576 bytes"


def test_a_file_that_is_good_is_loaded(home: Path) -> None:
    """The result is what its bytes parse to."""
    path = home / "router.toml"
    path.write_text(config())
    assert load_config(path) == parse_config(config().encode())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.toml", "there is no such file"),
        ("absent/router.toml", "there is no such file"),
        (".anvil-serving", "the file cannot be read"),
        ("null\0.toml", "the file cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_without_its_path(
    home: Path, name: str, message: str
) -> None:
    """Absent, which is told apart; a directory, or no path at all."""
    assert refusal(load_config, home / name) == message


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_file_that_must_be_regular_is_no_pipe_and_no_folder(home: Path, make) -> None:
    """A pipe is refused without waiting for its writer; a regular file is read to its bound."""
    path = home / "router.toml"
    make(path)
    message = refusal(lambda: read_config(path, must_be_regular=True))
    assert message == refusal(lambda: read_config(home))
    other = home / "other.toml"
    other.write_bytes(b"x" * (MAX_CONFIG_BYTES + 9))
    assert len(read_config(other, must_be_regular=True)) == MAX_CONFIG_BYTES + 1


def test_a_running_router_takes_a_regular_file_and_a_starting_one_also_a_pipe(home: Path) -> None:
    """Whoever starts it waits for the writer of a pipe; nobody else does."""
    path = home / "router.toml"
    os.mkfifo(path)
    source = ConfigSource(path, env(home))
    refusal(source.read)
    writer = Thread(target=path.write_bytes, args=(config(direct()).encode(),))
    writer.start()
    assert [tier.id for tier in source.load().tiers]
    writer.join()


def test_a_secret_is_asked_of_three_places_in_turn(home: Path) -> None:
    """The process, the operator's .env, the user's .env; the first that names it decides."""
    (home / ".env").write_text("A=user\nB=user\nC=user\nD=user")
    (home / ".anvil-serving" / ".env").write_text("A=operator\nB=operator\nC=")
    environ = env(home, A=" process ")
    assert [resolve_secret(name, environ) for name in "ABCDE"] == [
        "process",
        "operator",
        "",
        "user",
        None,
    ]


def test_the_users_env_file_can_be_left_out(home: Path) -> None:
    """ANVIL_SERVING_NO_HOME_ENV=1 does it, no other value does."""
    (home / ".env").write_text("A=user")
    assert resolve_secret("A", env(home, ANVIL_SERVING_NO_HOME_ENV="1")) is None
    assert resolve_secret("A", env(home, ANVIL_SERVING_NO_HOME_ENV="0")) == "user"


@pytest.mark.parametrize("data", [b"A=\xff", b"A=1\n" + b"#" * MAX_CONFIG_BYTES])
def test_an_env_file_that_cannot_be_read_names_nothing(home: Path, data: bytes) -> None:
    """No UTF-8, or above 1 MiB: the next place is asked."""
    (home / ".anvil-serving" / ".env").write_bytes(data)
    (home / ".env").write_text("A=user")
    assert resolve_secret("A", env(home)) == "user"


def test_all_secrets_of_a_configuration_are_resolved_together(home: Path) -> None:
    """The token and the tiers' keys by name; a tier whose variable is unset or empty has none."""
    tiers = [direct(id=f"'{name}'", auth_env=f"'{name}'") for name in ("ONE", "TWO", "SIX")]
    text = config(*tiers, server=TOKEN, routes="{ a = 'ONE', b = 'TWO', c = 'SIX' }")
    secrets = resolve_secrets(
        parse_config(text.encode()), env(home, ROUTER_TOKEN="token", ONE="key", TWO="", OTHER="x")
    )
    names = ("ROUTER_TOKEN", "ONE", "TWO", "SIX", "OTHER")
    assert [secrets.get(name) for name in names] == ["token", "key", None, None, None]


def test_without_auth_env_no_token_is_asked_for(home: Path) -> None:
    """Authentication is off, and nothing has to be set."""
    assert resolve_secrets(parse_config(config().encode()), env(home)).get("ENGINE_KEY") is None


@pytest.mark.parametrize("more", [{}, {"ROUTER_TOKEN": ""}, {"ROUTER_TOKEN": " \n"}])
def test_a_token_that_is_named_must_be_there(home: Path, more: dict[str, str]) -> None:
    """Unset or empty, the start is refused: the router would be open to all."""
    parsed = parse_config(config(server=TOKEN).encode())
    assert refusal(resolve_secrets, parsed, env(home, **more)) == (
        "server.auth_env: must name a variable that is set and not empty"
    )


def test_a_secret_that_could_not_travel_in_a_header_is_refused(home: Path) -> None:
    """Each by the key that names it, never by its name or value."""
    environ = env(home, ROUTER_TOKEN="canary\nX: y", ENGINE_KEY="canary\udcff")
    message = refusal(resolve_secrets, parse_config(config(server=TOKEN).encode()), environ)
    assert message == (
        "router.tiers[0].auth_env: must name a variable whose value is printable\n"
        "server.auth_env: must name a variable whose value is printable"
    )


def test_tls_files_must_be_readable_now(home: Path) -> None:
    """The keys of those that are not are told; without TLS nothing is asked."""
    (home / "cert.pem").write_text("")
    check_tls_files(ServerSettings(), env(home))
    check_tls_files(
        ServerSettings(tls_certfile="~/cert.pem", tls_keyfile=str(home / "cert.pem")), env(home)
    )
    absent = ServerSettings(tls_certfile="~/absent.pem", tls_keyfile=str(home))
    assert refusal(check_tls_files, absent, env(home)) == (
        "server.tls_certfile: must name a file that can be read\n"
        "server.tls_keyfile: must name a file that can be read"
    )


def test_a_topology_is_in_the_operator_s_home_or_where_it_was_told(home: Path) -> None:
    """Never in the current directory, where a configuration may be; `~` is expanded."""
    cwd = home / "cwd"
    assert topology_path(None, env(home), cwd) == home / ".anvil-serving/operator-topology.toml"
    told = env(home, ANVIL_SERVING_HOME="elsewhere")
    assert topology_path(None, told, cwd) == cwd / "elsewhere/operator-topology.toml"
    assert topology_path("~/lab.toml", env(home), cwd) == home / "lab.toml"
    assert topology_path("lab.toml", env(home), cwd) == cwd / "lab.toml"
