"""Where a running router reads its configuration again."""

from pathlib import Path

import pytest

from anvil_trio.config.problems import ConfigError
from anvil_trio.config.source import ConfigSource
from tests.unit.config.toml import config


def test_the_policy_of_the_command_line_is_that_of_every_reading(tmp_path: Path) -> None:
    """What was told at start counts again for each configuration that is read from the file."""
    path = tmp_path / "router.toml"
    path.write_text(config(server=['auth_env = "TOKEN"']))
    source = ConfigSource(path, {}, "policy.json", tmp_path)
    for read in (source.load(), source.parse(source.read())):
        assert read.server.authorization_policy_path == str(tmp_path / "policy.json")
    plain = ConfigSource(path, {})
    assert plain.load().server.authorization_policy_path is None


def test_only_a_regular_file_is_read_while_it_runs(tmp_path: Path) -> None:
    """A folder in the place of the file is refused, in the words for a file that cannot be read."""
    with pytest.raises(ConfigError):
        ConfigSource(tmp_path, {}).read()


def test_its_repr_shows_nothing(tmp_path: Path) -> None:
    """R012: neither the path nor the environment is in what a traceback may print."""
    assert str(tmp_path) not in repr(ConfigSource(tmp_path / "x", {"KEY": "value"}, "p", tmp_path))
    assert "value" not in repr(ConfigSource(tmp_path, {"KEY": "value"}))
