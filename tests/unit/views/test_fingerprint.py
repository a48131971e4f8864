import re

import pytest

from anvil_trio.config.model import Compat
from anvil_trio.views.fingerprint import project_config, public_sha256
from tests.unit.views.samples import DIRECT, canary, config, direct_tier, member, read, replica_tier


def with_replica_tier(**changed):
    """The sample configuration with one change to its replica tier."""
    tier = replica_tier().model_copy(update=changed)
    return config().model_copy(update={"tiers": (tier, direct_tier())})


def test_the_digest_is_bare_hex():
    """64 lower-case hex digits, so that it can be compared as text."""
    assert re.fullmatch(r"[0-9a-f]{64}", public_sha256(config()))


def test_the_digest_covers_exactly_the_public_keys():
    """The projection is a list of keys, never a dump of the model."""
    projection = read(project_config(config()))
    assert set(projection) == {"routes", "tiers", "services"}
    assert set(projection["tiers"][0]) == {
        "id",
        "dialect",
        "privacy",
        "tool_support",
        "realtime",
        "model",
        "model_identity",
        "metadata_source",
        "context_admission",
        "context_limit",
        "max_output_tokens",
        "max_concurrency",
        "engine",
        "quantization",
        "compat",
        "media_policy",
        "replica_strategy",
        "replica_affinity",
        "replica_identity",
        "members",
    }
    assert set(projection["tiers"][0]["members"][0]) == {
        "id",
        "qualification_ref",
        "max_concurrency",
    }


@pytest.mark.parametrize(
    "private",
    [
        {"auth_env": "OTHER"},
        {"health_path": "/other"},
        {"extra_body": {}},
        {"params": {}},
        {
            "replicas": tuple(
                member(name).model_copy(update={"base_url": canary(name), "host_id": "other"})
                for name in ("member-b", "member-a")
            )
        },
    ],
)
def test_a_private_change_leaves_the_digest(private):
    """No URL, host, credential's name or parameter has any part in it."""
    assert public_sha256(with_replica_tier(**private)) == public_sha256(config())


@pytest.mark.parametrize(
    "public",
    [
        {"model": "another"},
        {"context_limit": 1},
        {"compat": Compat(prefill="refuse")},
        {"media_policy": None},
        {"replica_identity": None},
        {"replicas": (member("member-a"), member("member-c"))},
    ],
)
def test_a_public_change_changes_the_digest(public):
    """Two configurations that promise something else are told apart."""
    assert public_sha256(with_replica_tier(**public)) != public_sha256(config())


def test_a_route_is_part_of_the_promise():
    """An alias that moves to another tier changes the digest."""
    moved = config().model_copy(update={"routes": {"llm.primary": DIRECT}})
    assert public_sha256(moved) != public_sha256(config())


def test_the_order_of_declaration_is_not():
    """The same members and routes in another order promise the same."""
    routes = dict(reversed(list(config().routes.items())))
    tier = replica_tier().model_copy(update={"replicas": replica_tier().replicas[::-1]})
    turned = config().model_copy(update={"routes": routes, "tiers": (tier, direct_tier())})
    assert public_sha256(turned) == public_sha256(config())
