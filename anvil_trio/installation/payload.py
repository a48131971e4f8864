"""What may be installed: a validated snapshot, or a plain file without replicas.

T015: replicas are only ever installed from a snapshot that was joined with a topology. Whoever has
nothing but a path (a program that prepares a configuration of its own) can install direct tiers.
"""

from dataclasses import dataclass, field
from pathlib import Path

from anvil_trio.config.load import read_config
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.lifecycle.guard import LifecycleRefusal
from anvil_trio.topology.snapshot import Snapshot

__all__ = ["Payload", "capture_direct", "payload_of"]


@dataclass(frozen=True, slots=True)
class Payload:
    """Captured bytes, their digest and their tiers. Made by the two functions below."""

    source: bytes = field(repr=False)
    sha256: str
    tier_ids: tuple[str, ...]


def payload_of(snapshot: Snapshot) -> Payload:
    """Exactly the bytes that were validated."""
    return _payload(snapshot.config)


def capture_direct(path: Path) -> Payload | LifecycleRefusal:
    """The file at `path`, read once; a refusal if any of its tiers has replicas.

    Raises ConfigError if it cannot be read or is not valid.
    """
    config = parse_config(read_config(path, must_be_regular=True))
    if any(tier.is_replica for tier in config.tiers):
        return LifecycleRefusal.UNSUPPORTED
    return _payload(config)


def _payload(config: RouterConfig) -> Payload:
    return Payload(config.source, config.sha256, tuple(tier.id for tier in config.tiers))
