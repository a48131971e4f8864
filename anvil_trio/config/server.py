"""`[server]`: deadlines, limits, credentials, files and what the operation service may do."""

from collections.abc import Iterator

from anvil_trio.config.model import ServerSettings
from anvil_trio.config.problems import ConfigProblem
from anvil_trio.config.table import Table, read_table

__all__ = ["find_server_problems", "has_media", "make_server", "read_server"]

_MEDIA = ("media_principal", "media_scopes", "media_public_origin")
_NEED_MEDIA = (
    "media_backend",
    "media_retention_s",
    "media_max_artifact_bytes",
    "media_max_stored_bytes",
    "media_max_active",
)
_NEED_AUTH = ("client_limits", "authorization_policy_path", *_MEDIA)
_TLS = ("tls_certfile", "tls_keyfile")


def read_server(raw: object) -> Table:
    """`[server]`, each key checked by itself."""
    return read_table(ServerSettings, raw, "server")


def find_server_problems(table: Table) -> Iterator[ConfigProblem]:
    """All that is wrong with `[server]`."""
    yield from table.problems
    yield from _check_credentials(table)
    yield from _check_company(table, _MEDIA, "is required with the other media_ keys")
    yield from _check_media(table)
    yield from _check_company(table, _TLS, "is required with the other tls_ key")


def make_server(table: Table) -> ServerSettings:
    """The settings of a table without problems. Shutting down may take as long as a request."""
    values = table.only(ServerSettings.model_fields)
    values.setdefault("shutdown_timeout_s", table.get("total_timeout_s"))
    return ServerSettings.model_validate(values)


def has_media(table: Table) -> bool:
    """Whether the media gateway is asked for, which may do without tiers and routes."""
    return all(table.has(key) for key in _MEDIA)


def _check_credentials(table: Table) -> Iterator[ConfigProblem]:
    for key in _NEED_AUTH:
        if table.get(key) and not table.has("auth_env"):
            yield table.conflict(key, "needs auth_env")


def _check_media(table: Table) -> Iterator[ConfigProblem]:
    if not has_media(table):
        for key in _NEED_MEDIA:
            if table.has(key):
                yield table.conflict(key, "needs media_principal and what goes with it")
    artifact, stored = table.get("media_max_artifact_bytes"), table.get("media_max_stored_bytes")
    if isinstance(artifact, int) and isinstance(stored, int) and artifact > stored:
        yield table.conflict("media_max_artifact_bytes", "must not be above media_max_stored_bytes")


def _check_company(table: Table, keys: tuple[str, ...], message: str) -> Iterator[ConfigProblem]:
    absent = [key for key in keys if not table.has(key)]
    if len(absent) < len(keys):
        yield from (table.missing(key, message) for key in absent)
