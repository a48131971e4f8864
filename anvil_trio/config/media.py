"""What the operation service may do, as `[server]` says, and where, as the environment says.

Nothing here opens a file. No message names a path, a URL or a value.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from anvil_trio.config.model import ServerSettings
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.urls import router_fault

__all__ = ["MediaSettings", "make_media"]

_URL = "ANVIL_MEDIA_BACKEND_URL"
_DATABASE = "ANVIL_MEDIA_STATE_DB"
_ARTIFACTS = "ANVIL_MEDIA_ARTIFACT_ROOT"
_REGISTRY = "ANVIL_MEDIA_WORKFLOW_REGISTRY"


@dataclass(frozen=True, slots=True)
class MediaSettings:
    """All that the operation service is started with. `backend_url` is None for the embedded one.

    `principal` is whom every caller of the operator's token acts for, `scopes` what they may do.
    """

    principal: str = field(repr=False)
    scopes: frozenset[str]
    public_origin: str = field(repr=False)
    backend_url: str | None = field(repr=False)
    state_db: Path = field(repr=False)
    artifact_root: Path = field(repr=False)
    workflow_registry: Path = field(repr=False)
    retention_s: int
    max_artifact_bytes: int
    max_stored_bytes: int
    max_active: int


def make_media(
    server: ServerSettings, variable: Callable[[str], str | None], expand: Callable[[str], Path]
) -> MediaSettings | None:
    """The settings of a `[server]` that asks for the service, None of one that does not.

    `variable` gives the value of an environment variable or None; `expand` makes a path of text,
    and `expand("")` is the operator's home. Raises ConfigError, naming the variable.
    """
    if server.media_principal is None:
        return None
    assert server.media_scopes is not None, "the parser asks for all three"
    assert server.media_public_origin is not None, "the parser asks for all three"

    def path_of(name: str, default: str) -> Path:
        text = variable(name)
        return expand(text) if text else expand("") / "media" / default

    return MediaSettings(
        principal=server.media_principal,
        scopes=frozenset(server.media_scopes),
        public_origin=server.media_public_origin,
        backend_url=_backend_url(server, variable(_URL)),
        state_db=path_of(_DATABASE, "operations.sqlite3"),
        artifact_root=path_of(_ARTIFACTS, "artifacts"),
        workflow_registry=path_of(_REGISTRY, "workflows.toml"),
        retention_s=server.media_retention_s,
        max_artifact_bytes=server.media_max_artifact_bytes,
        max_stored_bytes=server.media_max_stored_bytes,
        max_active=server.media_max_active,
    )


def _backend_url(server: ServerSettings, text: str | None) -> str | None:
    if server.media_backend == "demo":
        if text:
            raise _fault(ProblemCode.CONFLICT, 'does not go with media_backend = "demo"')
        return None
    if not text:
        raise _fault(ProblemCode.REQUIRED, "is required with the media_ keys")
    fault = router_fault(text)
    if fault is not None:
        raise _fault(ProblemCode.INVALID, fault)
    return text


def _fault(code: ProblemCode, message: str) -> ConfigError:
    return ConfigError([ConfigProblem(_URL, code, message)])
