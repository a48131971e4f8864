"""`router-install.toml`: how this machine's router is started anew. Pure.

It stands in the operator's home, is at most 1 MiB of TOML, and every key may be absent.
"""

from typing import Annotated

from anvil_trio.config.document import parse_document
from anvil_trio.config.kinds import must
from anvil_trio.config.model import Frozen
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.table import read_table

__all__ = ["InstallSettings", "parse_settings"]

_MAX_SECONDS = 3600.0
_MAX_WORDS = 256


def _is_command(words: tuple[str, ...]) -> bool:
    is_short = len(words) <= _MAX_WORDS
    return is_short and bool(words and words[0]) and not any("\0" in word for word in words)


def _is_bound(seconds: float) -> bool:
    return 0 < seconds <= _MAX_SECONDS


_Command = Annotated[
    tuple[str, ...],
    must(
        f"must be an array of 1 to {_MAX_WORDS} texts without null characters, the first not empty",
        _is_command,
    ),
]
_Bound = Annotated[float, must("must be a number of seconds above 0 and at most 3600", _is_bound)]


class InstallSettings(Frozen):
    """What an operator settles once for all installations. Times are seconds."""

    restart_command: _Command | None = None
    """A program and its arguments; no shell reads them."""
    restart_timeout_s: _Bound = 60.0
    """How long that may take."""
    start_timeout_s: _Bound = 60.0
    """How long the router may then take until it says that it has its tiers."""


def parse_settings(data: bytes) -> InstallSettings:
    """What the file says; ConfigError with all that is wrong with it, by key path and rule."""
    table = read_table(InstallSettings, dict(parse_document(data).tree), "")
    if table.problems:
        raise ConfigError(table.problems)
    return InstallSettings.model_validate(dict(table.raw))
