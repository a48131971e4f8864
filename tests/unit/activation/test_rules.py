"""What a running router can take over."""

from pathlib import Path

import pytest

from anvil_trio.activation.rules import find_restart_need
from anvil_trio.config.media import MediaSettings, make_media
from anvil_trio.config.model import ServerSettings
from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.config.secrets import Secrets
from anvil_trio.errors import Code
from anvil_trio.names import ClientId
from tests.support.small_house import config_of, direct_tier, replica_tier

SERVER = ServerSettings(auth_env="TOKEN")
MEDIA = ServerSettings(
    auth_env="TOKEN",
    media_principal="studio",
    media_scopes=("media:read",),
    media_public_origin="https://media.example",
    media_backend="demo",
)
OLD = config_of(replica_tier(), server=SERVER)
KEYS = {"TOKEN": "t", "UPSTREAM_KEY": "k"}
CLIENT = ClientCredential(ClientId("desk"), frozenset({ClientScope.INFERENCE_USE}), "credential")


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        config_of(replica_tier(members=("a", "b", "c")), server=SERVER),
        config_of(direct_tier(), server=SERVER),
        config_of(replica_tier(), server=SERVER, exhaustion_status=529),
    ],
)
def test_tiers_routes_and_router_settings_may_change(new):
    """Everything but `[server]` and the credentials that are in use can be taken over."""
    assert find_restart_need(OLD, new, Secrets(KEYS), Secrets(KEYS)) is None


def test_a_credential_that_is_new_may_come():
    """A tier with a key of its own that no tier had before needs no restart."""
    tier = direct_tier("more").model_copy(update={"auth_env": "OTHER_KEY"})
    new = config_of(replica_tier(), tier, server=SERVER)
    assert find_restart_need(OLD, new, Secrets(KEYS), Secrets({**KEYS, "OTHER_KEY": "o"})) is None


def test_the_pool_of_audio_needs_a_restart():
    """Its places are counted for as long as the process lives, like those of the front door."""
    new = config_of(replica_tier(), server=SERVER, audio_max_concurrency=2)
    found = find_restart_need(OLD, new, Secrets(KEYS), Secrets(KEYS))
    assert found is not None
    assert found.code is Code.ACTIVATION_REQUIRES_RESTART


@pytest.mark.parametrize(
    ("server", "keys", "clients"),
    [
        (ServerSettings(auth_env="TOKEN", idle_timeout_s=7), KEYS, ()),
        (ServerSettings(), KEYS, ()),
        (SERVER, {**KEYS, "TOKEN": "another"}, ()),
        (SERVER, {**KEYS, "UPSTREAM_KEY": "another"}, ()),
        (SERVER, {"TOKEN": "t"}, ()),
        (SERVER, KEYS, (CLIENT,)),
    ],
)
def test_the_server_and_its_credentials_need_a_restart(server, keys, clients):
    """A setting of `[server]`, a key that is in use or a client that changed is refused."""
    new = config_of(replica_tier(), server=server)
    found = find_restart_need(OLD, new, Secrets(KEYS), Secrets(keys, clients))
    assert found is not None
    assert found.code is Code.ACTIVATION_REQUIRES_RESTART


def told(environ: dict[str, str]) -> MediaSettings | None:
    """What the operation service is told in this environment."""
    return make_media(MEDIA, environ.get, Path)


def test_where_operations_are_kept_needs_a_restart():
    """The service lives as long as the process, and so does what it was told at its start."""
    media = told({})
    moved = told({"ANVIL_MEDIA_STATE_DB": "elsewhere"})
    for old, new in ((None, media), (media, None), (media, moved)):
        found = find_restart_need(OLD, OLD, Secrets(KEYS, media=old), Secrets(KEYS, media=new))
        assert found is not None
        assert found.code is Code.ACTIVATION_REQUIRES_RESTART
    same = told({})
    found = find_restart_need(OLD, OLD, Secrets(KEYS, media=media), Secrets(KEYS, media=same))
    assert found is None
