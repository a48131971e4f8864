"""How the reading commands find the router and its credential."""

import pytest

from anvil_trio.cli.diagnostics_settings import Settings, parse_settings
from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.reach import SETTINGS_NAME, Told, resolve_reach

CANARY = "canary-5417"


@pytest.fixture
def environ(tmp_path):
    """An operator's home without a settings file, and a token."""
    return {
        "ANVIL_SERVING_HOME": str(tmp_path),
        "HOME": str(tmp_path),
        "ANVIL_SERVING_NO_HOME_ENV": "1",
        "ANVIL_ROUTER_TOKEN": "token",
    }


def settle(tmp_path, text):
    """Write the settings where they are looked for."""
    (tmp_path / SETTINGS_NAME).write_text(text)


def refused(told, environ, cwd):
    """Why there is no way to the router."""
    with pytest.raises(CommandFailed) as caught:
        resolve_reach(told, environ, cwd)
    failure = caught.value.failure
    assert failure.status is Exit.USAGE
    assert CANARY not in failure.message
    return failure.code


def test_without_a_word_it_is_this_machines_port_8000(environ, tmp_path):
    """And the token of the environment, within ten seconds; nothing of it shows."""
    reach = resolve_reach(Told(), environ, tmp_path)
    assert (reach.url, reach.token, reach.timeout_s) == ("http://127.0.0.1:8000", "token", 10.0)
    assert repr(reach) == "Reach()"


def test_who_says_where_the_router_is(environ, tmp_path):
    """The option before the variable before the settings."""
    settle(tmp_path, 'router_url = "http://10.0.0.3:1"\ntimeout = 3')
    assert resolve_reach(Told(), environ, tmp_path).url == "http://10.0.0.3:1"
    assert resolve_reach(Told(), environ, tmp_path).timeout_s == 3
    environ["ANVIL_ROUTER_URL"] = "http://10.0.0.2:1"
    assert resolve_reach(Told(), environ, tmp_path).url == "http://10.0.0.2:1"
    told = Told(router_url="http://10.0.0.1:1", timeout=2.0)
    assert resolve_reach(told, environ, tmp_path).url == "http://10.0.0.1:1"
    assert resolve_reach(told, environ, tmp_path).timeout_s == 2


@pytest.mark.parametrize(
    "url", [f"http://{CANARY}", "http://8.8.8.8", "ftp://127.0.0.1", "http://127.0.0.1/x"]
)
def test_only_a_literal_private_address_is_asked(url, environ, tmp_path):
    """Whoever says it."""
    assert refused(Told(router_url=url), environ, tmp_path) == "invalid_router_url"
    settle(tmp_path, f'router_url = "{url}"')
    assert refused(Told(), environ, tmp_path) == "invalid_router_url"


def test_a_variable_of_the_command_line_comes_first(environ, tmp_path):
    """Even before a file of the settings; a name that is none is no credential."""
    (tmp_path / "key").write_text("from-file\n")
    settle(tmp_path, f'credential_file = "{tmp_path}/key"')
    environ["OTHER_TOKEN"] = "other"
    assert resolve_reach(Told(), environ, tmp_path).token == "from-file"
    assert resolve_reach(Told(auth_env="OTHER_TOKEN"), environ, tmp_path).token == "other"
    assert refused(Told(auth_env=CANARY), environ, tmp_path) == "router_credential_required"
    assert refused(Told(auth_env="UNSET"), environ, tmp_path) == "router_credential_required"


def test_a_file_of_variables(environ, tmp_path):
    """The variable of the settings, or the usual one, is looked up in that file alone."""
    (tmp_path / "keys.env").write_text("ANVIL_ROUTER_TOKEN=usual\nREADER='theirs'\n")
    settle(tmp_path, 'credential_env_file = "~/keys.env"')
    assert resolve_reach(Told(), environ, tmp_path).token == "usual"
    settle(tmp_path, 'credential_env_file = "~/keys.env"\nauth_env = "READER"')
    assert resolve_reach(Told(), environ, tmp_path).token == "theirs"
    environ["UNSET"] = "set"
    settle(tmp_path, 'credential_env_file = "~/keys.env"\nauth_env = "UNSET"')
    assert refused(Told(), environ, tmp_path) == "router_credential_required"


def test_the_variable_of_the_settings(environ, tmp_path):
    """Without a file it is looked up as every secret is."""
    environ["READER"] = "theirs"
    settle(tmp_path, 'auth_env = "READER"')
    assert resolve_reach(Told(), environ, tmp_path).token == "theirs"


@pytest.mark.parametrize("content", [None, b"", b"a\nb", "é".encode(), b"\xff", b"x" * 65_537])
def test_a_credential_of_no_use(content, environ, tmp_path):
    """Missing, empty, of several lines, not ASCII, too large."""
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    settle(tmp_path, f'credential_file = "{tmp_path}/key"')
    assert refused(Told(), environ, tmp_path) == "router_credential_required"


def test_a_credential_is_never_read_through_a_link(environ, tmp_path):
    """Whoever could place one would choose what is sent."""
    (tmp_path / "key").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    settle(tmp_path, f'credential_file = "{tmp_path}/link"')
    assert refused(Told(), environ, tmp_path) == "router_credential_required"


def test_settings_that_are_named_must_be_there(environ, tmp_path):
    """Those of the operator's home need not."""
    (tmp_path / "mine.toml").write_text("timeout = 1")
    assert resolve_reach(Told(config="mine.toml"), environ, tmp_path).timeout_s == 1
    for path in ("none.toml", "a\0b", str(tmp_path)):
        code = refused(Told(config=path), environ, tmp_path)
        assert code == "router_diagnostics_config_invalid"
    settle(tmp_path, CANARY)
    assert refused(Told(), environ, tmp_path) == "router_diagnostics_config_invalid"


@pytest.mark.parametrize(
    "text",
    [
        "x = ",
        'other = "a"',
        "router_url = 5",
        "timeout = 0",
        "timeout = 30.1",
        "timeout = nan",
        "timeout = true",
        'auth_env = "lower"',
        'auth_env = "AKIAABCDEFGHIJKLMNOP"',
        'credential_file = "relative"',
        'credential_env_file = "relative"',
        'credential_file = "/a\\u0000"',
        'credential_file = "/a"\ncredential_env_file = "/b"',
        'credential_file = "/a"\nauth_env = "B"',
        "[router]\nurl = 1",
        "# " + "x" * 65_536,
    ],
)
def test_settings_with_any_fault_are_none(text):
    """Nothing is guessed of them."""
    assert parse_settings(text.encode()) is None


def test_bytes_that_are_no_text_are_no_settings():
    """UTF-8, as every file here."""
    assert parse_settings(b"\xff") is None


def test_whole_settings():
    """All that may stand together."""
    text = (
        'router_url = "http://127.0.0.1:1"\nauth_env = "A"\n'
        'credential_env_file = "/e"\ntimeout = 30\n'
    )
    assert parse_settings(text.encode()) == Settings("http://127.0.0.1:1", "A", "/e", None, 30)
    assert parse_settings(b"") == Settings()
    assert parse_settings(b'credential_file = "~/k"') == Settings(credential_file="~/k")
