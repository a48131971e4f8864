"""One validated capture of a router configuration: the bytes themselves, and what they declare.

R004, T006: what is validated is what is later installed, byte for byte. The bytes come in; nobody
here opens a file, writes TOML or asks a host.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.config.problems import ConfigError
from anvil_trio.topology.codes import RefusalCode
from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.join import check_join
from anvil_trio.topology.model import Topology
from anvil_trio.topology.problems import TopologyError

__all__ = ["Refused", "Snapshot", "TopologyBytes", "validate_snapshot"]


@dataclass(frozen=True, slots=True)
class TopologyBytes:
    """The captured files of a topology."""

    base: bytes = field(repr=False)
    overlay: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A configuration that agrees with a topology, with exactly the bytes that were checked.

    Its identity is what the operator declares; no deployment was looked at (R005).
    """

    source: bytes = field(repr=False)
    sha256: str
    config: RouterConfig = field(repr=False)
    topology: Topology = field(repr=False)
    deployment_identity_source: Literal["declared"] = "declared"
    runtime_deployment_identity_verified: Literal[False] = False

    @property
    def tier_count(self) -> int:
        """How many tiers there are."""
        return len(self.config.tiers)

    @property
    def replica_tier_count(self) -> int:
        """How many of them have replicas."""
        return sum(tier.is_replica for tier in self.config.tiers)

    @property
    def replica_member_count(self) -> int:
        """How many replicas all of them have."""
        return sum(len(tier.replicas) for tier in self.config.tiers)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no snapshot; the digest is there when a whole configuration was captured."""

    code: RefusalCode
    sha256: str | None


def validate_snapshot(config: bytes | None, topology: TopologyBytes | None) -> Snapshot | Refused:
    """Check one capture of a configuration against one of a topology; the first fault decides.

    None stands for a file that could not be read. A reader gives at most one byte more than a
    file may have, so that a capture which is too large is known, and known to be incomplete.
    """
    if config is None:
        return Refused(RefusalCode.ROUTER_CONFIG_INVALID, None)
    if len(config) > MAX_CONFIG_BYTES:
        return Refused(RefusalCode.CONFIG_TOO_LARGE, None)
    sha256 = hashlib.sha256(config).hexdigest()
    try:
        parsed = parse_config(config)
    except ConfigError:
        return Refused(RefusalCode.ROUTER_CONFIG_INVALID, sha256)
    declared = _declared(topology)
    if declared is None:
        return Refused(RefusalCode.TOPOLOGY_INVALID, sha256)
    refusal = check_join(parsed, declared)
    if refusal is not None:
        return Refused(refusal, sha256)
    return Snapshot(parsed.source, parsed.sha256, parsed, declared)


def _declared(topology: TopologyBytes | None) -> Topology | None:
    if topology is None:
        return None
    try:
        return parse_topology(topology.base, topology.overlay)
    except TopologyError:
        return None
