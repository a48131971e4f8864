"""What the operation service is told by `[server]` and by the environment."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from anvil_trio.config.load import resolve_secrets
from anvil_trio.config.media import MediaSettings, make_media
from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.config.problems import ConfigError

HOME = Path("/operator")
SERVER = ServerSettings(
    auth_env="TOKEN",
    media_principal="studio",
    media_scopes=("media:read",),
    media_public_origin="https://media.example",
)
DEMO = SERVER.model_copy(update={"media_backend": "demo"})
URL = "http://127.0.0.1:8188"


def made(server: ServerSettings, environ: Mapping[str, str]) -> MediaSettings:
    """The settings, of a server that has some."""
    found = make_media(server, environ.get, lambda text: Path(text) if text else HOME)
    assert found is not None
    return found


def told(server: ServerSettings, environ: Mapping[str, str]) -> str:
    """What is wrong with them."""
    with pytest.raises(ConfigError) as caught:
        made(server, environ)
    return str(caught.value)


def test_a_server_without_media_keys_has_no_operation_service() -> None:
    """Whatever the environment says."""
    environ = {"ANVIL_MEDIA_BACKEND_URL": URL}
    assert make_media(ServerSettings(), environ.get, Path) is None


def test_what_is_kept_stands_in_the_operators_home() -> None:
    """Unless the environment says where else."""
    found = made(DEMO, {})
    assert found.state_db == HOME / "media" / "operations.sqlite3"
    assert found.artifact_root == HOME / "media" / "artifacts"
    assert found.workflow_registry == HOME / "media" / "workflows.toml"
    assert found.backend_url is None
    moved = made(
        SERVER,
        {
            "ANVIL_MEDIA_BACKEND_URL": URL,
            "ANVIL_MEDIA_STATE_DB": "/a/db",
            "ANVIL_MEDIA_ARTIFACT_ROOT": "/a/files",
            "ANVIL_MEDIA_WORKFLOW_REGISTRY": "/a/list.toml",
        },
    )
    assert (moved.state_db, moved.artifact_root, moved.workflow_registry) == (
        Path("/a/db"),
        Path("/a/files"),
        Path("/a/list.toml"),
    )
    assert moved.backend_url == URL


def test_a_backend_that_is_managed_elsewhere_has_an_address() -> None:
    """Without one the start is refused: a service that can run nothing is none."""
    message = "ANVIL_MEDIA_BACKEND_URL: is required with the media_ keys"
    assert told(SERVER, {}) == message
    assert told(SERVER, {"ANVIL_MEDIA_BACKEND_URL": ""}) == message


@pytest.mark.parametrize(
    "url",
    [
        "http://comfy.example:8188",
        "http://127.0.0.1:8188/inside",
        "http://8.8.8.8:8188",
        "ftp://127.0.0.1",
        "http://me@127.0.0.1",
    ],
)
def test_a_backend_is_near_by(url: str) -> None:
    """Its host is a literal loopback or private address, and no message shows what was said."""
    message = told(SERVER, {"ANVIL_MEDIA_BACKEND_URL": url})
    assert message.startswith("ANVIL_MEDIA_BACKEND_URL: must be a URL")
    assert url not in message


def test_an_embedded_backend_has_no_address() -> None:
    """One that is given would be ignored, so it is refused."""
    message = 'ANVIL_MEDIA_BACKEND_URL: does not go with media_backend = "demo"'
    assert told(DEMO, {"ANVIL_MEDIA_BACKEND_URL": URL}) == message


def test_the_settings_never_show_where_anything_is() -> None:
    """Nor whom callers act for."""
    shown = repr(made(SERVER, {"ANVIL_MEDIA_BACKEND_URL": URL}))
    assert not any(word in shown for word in ("studio", "operator", "8188", "media.example"))


def test_the_variables_are_looked_up_where_secrets_are(tmp_path: Path) -> None:
    """In the environment, then in the operator's `.env`; the operator's home may be told."""
    (tmp_path / ".env").write_text(f"ANVIL_MEDIA_BACKEND_URL={URL}\n")
    config = RouterConfig(server=SERVER, tiers=(), routes={})
    environ = {
        "TOKEN": "t" * 20,
        "ANVIL_SERVING_HOME": str(tmp_path),
        "ANVIL_SERVING_NO_HOME_ENV": "1",
        "HOME": "/users/one",
        "ANVIL_MEDIA_ARTIFACT_ROOT": "~/files",
    }
    media = resolve_secrets(config, environ).media
    assert media is not None
    assert media.backend_url == URL
    assert media.state_db == tmp_path / "media" / "operations.sqlite3"
    assert media.artifact_root == Path("/users/one/files")
