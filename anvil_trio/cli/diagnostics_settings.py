"""The settings file of the reading commands, `router-diagnostics.toml`. Pure."""

import tomllib
from dataclasses import dataclass
from pathlib import PurePath

import msgspec

from anvil_trio.names import is_env_name

__all__ = ["MAX_SETTINGS_BYTES", "MAX_TIMEOUT_S", "Settings", "parse_settings"]

MAX_SETTINGS_BYTES = 65_536
MAX_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the router is and what opens it; None where the file does not say.

    The paths are as written, `~` included. The URL is not judged yet.
    """

    router_url: str | None = None
    auth_env: str | None = None
    credential_env_file: str | None = None
    credential_file: str | None = None
    timeout: float | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    router_url: str | None = None
    auth_env: str | None = None
    credential_env_file: str | None = None
    credential_file: str | None = None
    timeout: int | float | None = None


def parse_settings(data: bytes) -> Settings | None:
    """The settings in a file's bytes; None if anything about them is wrong.

    Two credentials are wrong: nobody could say which one was meant.
    """
    if len(data) > MAX_SETTINGS_BYTES:
        return None
    try:
        found = msgspec.convert(tomllib.loads(data.decode("utf-8")), _File)
    except (ValueError, RecursionError):  # both libraries' errors are ValueErrors
        return None
    return Settings(**msgspec.structs.asdict(found)) if _is_sound(found) else None


def _is_sound(file: _File) -> bool:
    paths = [path for path in (file.credential_env_file, file.credential_file) if path is not None]
    is_alone = len(paths) < 2 and not (file.credential_file and file.auth_env)  # noqa: PLR2004
    return (
        is_alone
        and all(map(_is_absolute, paths))
        and (file.auth_env is None or is_env_name(file.auth_env))
        and (file.timeout is None or 0 < file.timeout <= MAX_TIMEOUT_S)
    )


def _is_absolute(path: str) -> bool:
    return "\0" not in path and (path.startswith("~/") or PurePath(path).is_absolute())
