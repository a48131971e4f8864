"""The operator's files on disk: found, read once, and checked as a whole."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.load import read_config
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.lifecycle.manifest import parse_events, parse_manifest, parse_profiles
from anvil_trio.lifecycle.model import EventSettings, Manifest, Profile, Promotion, Serve

__all__ = ["Captured", "capture", "read_events", "read_manifest", "read_profiles"]

_MAX_FILES = 64
_MISSING = "must name a file that can be read"
_PROFILES = "serve-profiles.toml"
_EVENTS = "events.toml"


@dataclass(frozen=True, slots=True)
class Captured:
    """One router configuration as it was read, once; `config` is None if it is not valid."""

    data: bytes = field(repr=False)
    config: RouterConfig | None = field(repr=False)

    @property
    def sha256(self) -> str | None:
        """The digest of exactly these bytes, if they are a configuration."""
        return None if self.config is None else self.config.sha256


def capture(path: Path) -> Captured:
    """What is at `path` now."""
    try:
        data = _read(path)
        return Captured(data, parse_config(data))
    except ConfigError:
        return Captured(b"", None)


def read_manifest(path: Path) -> Manifest:
    """The set that the file at `path` belongs to: every `serves*.toml` beside it, in their order.

    Raises ConfigError for all that is wrong with any of them, also for a router's configuration
    that they name and that is not there: that is found now, and not in the middle of a promotion.
    """
    others = sorted(path.parent.glob("serves*.toml")) if path.parent.is_dir() else []
    files = [path, *(other for other in others if other.name != path.name)]
    if len(files) > _MAX_FILES:
        words = f"must be a set of at most {_MAX_FILES} files"
        raise ConfigError([ConfigProblem("", ProblemCode.TOO_LARGE, words)])
    manifest = parse_manifest([_read(each) for each in files])
    problems = [
        ConfigProblem(key, ProblemCode.FILE_UNREADABLE, _MISSING)
        for key, name in _with_configs(manifest)
        if name and not _is_readable(path.parent / name)
    ]
    if problems:
        raise ConfigError(problems)
    return manifest


def read_profiles(folder: Path, manifest: Manifest) -> tuple[Profile, ...]:
    """The profiles beside a manifest. Raises ConfigError, also if there are none."""
    return parse_profiles(_read(folder / _PROFILES), manifest)


def read_events(folder: Path) -> EventSettings:
    """The event settings beside a manifest; the defaults without a file. Raises ConfigError."""
    path = folder / _EVENTS
    return parse_events(_read(path)) if os.path.lexists(path) else EventSettings()


def _with_configs(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Each key that names a router's configuration, and the file that it names."""
    rows: tuple[tuple[str, Sequence[Serve | Promotion]], ...] = (
        ("serve", manifest.serves),
        ("promotion", manifest.promotions),
    )
    for key, tables in rows:
        for index, row in enumerate(tables):
            yield f"{key}[{index}].router_config", row.router_config
            yield f"{key}[{index}].rollback_router_config", row.rollback_router_config


def _is_readable(path: Path) -> bool:
    try:
        return len(_read(path)) <= MAX_CONFIG_BYTES
    except ConfigError:
        return False


def _read(path: Path) -> bytes:
    """A plain file: nobody who writes into a pipe is waited for."""
    return read_config(path, must_be_regular=True)
