"""The snapshot: what is validated is what it holds, and a refusal says which bytes were refused."""

import hashlib
import os
import socket
import subprocess
from dataclasses import FrozenInstanceError

import pytest

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.parse import parse_config
from anvil_trio.topology.codes import RefusalCode
from anvil_trio.topology.result import explain_refusal, project_result, render_result
from anvil_trio.topology.snapshot import Refused, Snapshot, TopologyBytes, validate_snapshot
from tests.unit.config.toml import config
from tests.unit.topology.toml import RESOURCE_A, ROUTER, topology

TOPOLOGY = TopologyBytes(topology())
SHA256 = hashlib.sha256(ROUTER).hexdigest()


def snapshot(router=ROUTER, declared=TOPOLOGY):
    """A snapshot, of what is valid."""
    found = validate_snapshot(router, declared)
    assert isinstance(found, Snapshot)
    return found


def test_a_snapshot_holds_exactly_the_bytes():
    """T006: with odd line ends and a comment, as captured; the digest is of these bytes."""
    odd = ROUTER.replace(b"\n", b"\r\n") + b"# \xc3\xa9  \r\n\n"
    found = snapshot(odd)
    assert found.source == odd
    assert found.sha256 == hashlib.sha256(odd).hexdigest()
    assert found.config == parse_config(odd)
    assert found.topology.resource_by_id.keys() == {"resource-a", "resource-b"}


def test_a_snapshot_counts_and_claims_no_more_than_was_declared():
    """T006: tiers, replica tiers and members; provenance is declared, nothing was verified."""
    found = snapshot()
    assert (found.tier_count, found.replica_tier_count, found.replica_member_count) == (1, 1, 2)
    assert found.deployment_identity_source == "declared"
    assert found.runtime_deployment_identity_verified is False
    direct = snapshot(config().encode())
    assert (direct.tier_count, direct.replica_tier_count, direct.replica_member_count) == (1, 0, 0)


def test_a_snapshot_is_frozen_and_its_repr_shows_the_digest_only():
    """T006: no byte of the configuration, and no name out of either file (R012)."""
    found = snapshot()
    with pytest.raises(FrozenInstanceError):
        found.source = b""
    for shown in (repr(found), repr(TOPOLOGY), repr(TopologyBytes(b"", topology()))):
        assert all(word not in shown for word in ("127.0.0.1", "resource-a", "primary", "lab"))
    assert SHA256 in repr(found)


BROKEN = b"[router]\n"


@pytest.mark.parametrize(
    ("router", "declared", "code", "sha256"),
    [
        (None, TOPOLOGY, "router_config_invalid", None),
        (None, None, "router_config_invalid", None),
        (b"=" * (MAX_CONFIG_BYTES + 1), TOPOLOGY, "config_too_large", None),
        (b"\xff", TOPOLOGY, "router_config_invalid", hashlib.sha256(b"\xff").hexdigest()),
        (BROKEN, TOPOLOGY, "router_config_invalid", hashlib.sha256(BROKEN).hexdigest()),
        (BROKEN, None, "router_config_invalid", hashlib.sha256(BROKEN).hexdigest()),
        (ROUTER, None, "topology_invalid", SHA256),
        (ROUTER, TopologyBytes(b""), "topology_invalid", SHA256),
        (ROUTER, TopologyBytes(topology(), b"x"), "topology_invalid", SHA256),
        (
            ROUTER,
            TopologyBytes(topology(resources=(RESOURCE_A,))),
            "replica_resource_missing",
            SHA256,
        ),
    ],
)
def test_a_refusal_has_a_digest_where_a_whole_capture_was_refused(router, declared, code, sha256):
    """T006: size first, then the configuration, the topology, the join."""
    assert validate_snapshot(router, declared) == Refused(RefusalCode(code), sha256)


def test_a_configuration_of_the_greatest_size_is_no_overflow():
    """The last byte that is allowed is parsed like the others."""
    padded = ROUTER + b"#" * (MAX_CONFIG_BYTES - len(ROUTER))
    assert snapshot(padded).source == padded


def test_an_overlay_takes_part():
    """It may mend what the base leaves open, and may break it."""
    bare = topology(resources=({**RESOURCE_A, "endpoint": None},))
    overlay = b"""
        [[resources]]
        id = "resource-a"
        endpoint = "http://127.0.0.1:8001/v1"
        [[resources]]
        id = "resource-b"
        role = "second"
        host = "host-one"
        runtime = "native"
        endpoint = "http://127.0.0.1:8002/v1"
    """
    assert isinstance(validate_snapshot(ROUTER, TopologyBytes(bare, overlay)), Snapshot)
    wrong = overlay.replace(b"8001", b"8009")
    assert validate_snapshot(ROUTER, TopologyBytes(bare, wrong)) == Refused(
        RefusalCode.ENDPOINT_MISMATCH, SHA256
    )


def forbidden(*_args, **_more):
    """Stands in for whatever would reach out."""
    raise AssertionError("something outside was asked")


def test_validation_asks_nobody(monkeypatch):
    """T006: with sockets, name resolution, processes and files out of reach it works as before."""
    for name in ("socket", "create_connection", "getaddrinfo", "gethostbyname"):
        monkeypatch.setattr(socket, name, forbidden)
    for name in ("Popen", "run", "check_output"):
        monkeypatch.setattr(subprocess, name, forbidden)
    for name in ("open", "system", "fork", "posix_spawn"):
        monkeypatch.setattr(os, name, forbidden)
    monkeypatch.setattr("builtins.open", forbidden)
    named = ROUTER.replace(b"127.0.0.1", b"engine.example")
    declared = TopologyBytes(topology().replace(b"127.0.0.1", b"ENGINE.example."))
    assert snapshot(named, declared).replica_member_count == 2
    refused = validate_snapshot(named, TOPOLOGY)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.ENDPOINT_MISMATCH
    with pytest.raises(AssertionError, match="outside"):
        socket.getaddrinfo("engine.example", 80)


def test_the_result_of_a_success_is_closed():
    """T014: exactly these nine keys."""
    data = project_result(snapshot())
    assert data == {
        "schema_version": "replica-topology-validation/v1",
        "valid": True,
        "error_code": None,
        "config_sha256": SHA256,
        "tier_count": 1,
        "replica_tier_count": 1,
        "replica_member_count": 2,
        "deployment_identity_source": "declared",
        "runtime_deployment_identity_verified": False,
    }
    assert render_result(data) == (
        "router config topology valid: tiers=1 replica_tiers=1 replica_members=2"
    )


@pytest.mark.parametrize("code", RefusalCode)
def test_the_result_of_a_refusal_is_closed(code):
    """T014: the same keys; what is not known is null; the words of a code name nothing."""
    data = project_result(Refused(code, None))
    assert data == {
        "schema_version": "replica-topology-validation/v1",
        "valid": False,
        "error_code": code.value,
        "config_sha256": None,
        "tier_count": None,
        "replica_tier_count": None,
        "replica_member_count": None,
        "deployment_identity_source": None,
        "runtime_deployment_identity_verified": False,
    }
    assert render_result(data) == f"router config topology refused: {code.value}"
    assert explain_refusal(code).endswith(".")


def test_the_nine_codes():
    """T006: the vocabulary is fixed."""
    assert {code.value for code in RefusalCode} == {
        "config_too_large",
        "router_config_invalid",
        "topology_invalid",
        "replica_resource_missing",
        "replica_resource_reused",
        "replica_host_mismatch",
        "replica_endpoint_missing",
        "replica_endpoint_mismatch",
        "replica_host_split",
    }
