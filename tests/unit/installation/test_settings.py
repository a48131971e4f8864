"""`router-install.toml`."""

import pytest

from anvil_trio.config.problems import ConfigError
from anvil_trio.installation.settings import InstallSettings, parse_settings


def test_every_key_may_be_absent():
    """Then there is no command, and a minute for each wait."""
    assert parse_settings(b"") == InstallSettings()
    assert InstallSettings().model_dump() == {
        "restart_command": None,
        "restart_timeout_s": 60.0,
        "start_timeout_s": 60.0,
    }


def test_a_command_is_a_list_of_words():
    """The same word may be there twice, and an argument may be empty."""
    found = parse_settings(b'restart_command = ["a", "-x", "-x", ""]\nstart_timeout_s = 0.5')
    assert (found.restart_command, found.start_timeout_s) == (("a", "-x", "-x", ""), 0.5)


@pytest.mark.parametrize(
    "line",
    [
        "restart_command = []",
        'restart_command = [""]',
        'restart_command = "systemctl restart x"',
        "restart_command = [1]",
        'restart_command = ["a", "\\u0000"]',
        f"restart_command = {['a'] * 257}",
        "restart_timeout_s = 0",
        "restart_timeout_s = 3601",
        "start_timeout_s = nan",
        "start_timeout_s = true",
        "canary = 1",
        "[[[",
    ],
    ids=range(12),
)
def test_whatever_else_it_says_is_refused(line):
    """By key path and rule."""
    with pytest.raises(ConfigError) as caught:
        parse_settings(line.encode())
    (problem,) = caught.value.problems
    assert problem.path in {"", *line.split()[:1]}
