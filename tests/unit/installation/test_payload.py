"""What may be installed from where."""

import pytest

from anvil_trio.config.problems import ConfigError
from anvil_trio.installation.payload import Payload, capture_direct, payload_of
from anvil_trio.lifecycle.guard import LifecycleRefusal
from anvil_trio.topology.snapshot import Snapshot, TopologyBytes, validate_snapshot
from tests.unit.config.toml import config, direct, replica
from tests.unit.topology.toml import ROUTER, topology


def test_a_snapshot_s_own_bytes_are_installed():
    """T015: those that were validated, with their digest."""
    found = validate_snapshot(ROUTER, TopologyBytes(topology()))
    assert isinstance(found, Snapshot)
    payload = payload_of(found)
    assert (payload.source, payload.sha256) == (ROUTER, found.sha256)
    assert payload.source is found.source
    assert payload.tier_ids == ("primary",)
    assert "source" not in repr(payload)


def test_a_path_can_bring_direct_tiers(tmp_path):
    """T015: the file is read once, byte for byte."""
    path = tmp_path / "router.toml"
    data = config(direct()).replace("\n", "\r\n").encode()
    path.write_bytes(data)
    payload = capture_direct(path)
    assert isinstance(payload, Payload)
    assert payload.source == data


def test_a_path_never_brings_replicas(tmp_path):
    """T015: one replica tier among direct ones is refused with the fixed code."""
    path = tmp_path / "router.toml"
    routes = '{ a = "one", b = "many" }'
    path.write_text(config(direct(id='"one"'), replica(id='"many"'), routes=routes))
    assert capture_direct(path) is LifecycleRefusal.UNSUPPORTED


def test_a_path_without_a_configuration_brings_nothing(tmp_path):
    """It is said as for every configuration."""
    with pytest.raises(ConfigError):
        capture_direct(tmp_path / "router.toml")
