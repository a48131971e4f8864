"""The replica shape of a tier: 2 to 16 members on one host, and the deployment they declare.

Requirements R002, R003 and R005; R006 asks only that a qualification reference is a safe label.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from anvil_trio.config.endpoints import parse_endpoint
from anvil_trio.config.model import ReplicaIdentity, ReplicaMember
from anvil_trio.config.problems import ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.table import Rows, Table, read_rows, read_table

__all__ = ["Replicas", "find_replica_problems", "make_identity", "make_members", "read_replicas"]

_MIN_MEMBERS = 2
_MAX_MEMBERS = 16


@dataclass(frozen=True, slots=True)
class Replicas:
    """What the file says of one tier's members; `identity` is None where it says nothing."""

    tier: Table
    members: Rows
    identity: Table | None


def read_replicas(tier: Table) -> Replicas:
    """The members and their identity, each checked by itself."""
    identity = None
    if tier.has("replica_identity"):
        path = tier.at("replica_identity")
        identity = read_table(ReplicaIdentity, tier.raw["replica_identity"], path)
    members = read_rows(ReplicaMember, tier.raw["replicas"], tier.at("replicas"))
    return Replicas(tier, members, identity)


def find_replica_problems(replicas: Replicas) -> Iterator[ConfigProblem]:
    """All that is wrong with a tier's replicas, and with the tier because it has replicas."""
    yield from replicas.members.problems
    yield from _check_members(replicas)
    yield from _check_identity(replicas)
    yield from _check_policy(replicas.tier)
    yield from _check_ceilings(replicas)


def make_members(replicas: Replicas) -> tuple[ReplicaMember, ...]:
    """The members, in the order of the file, of replicas without problems."""
    return tuple(ReplicaMember.model_validate(member.raw) for member in replicas.members)


def make_identity(replicas: Replicas) -> ReplicaIdentity | None:
    """What the members declare to be, of replicas without problems."""
    identity = replicas.identity
    return None if identity is None else ReplicaIdentity.model_validate(identity.raw)


def _check_members(replicas: Replicas) -> Iterator[ConfigProblem]:
    raw = replicas.tier.raw["replicas"]
    if isinstance(raw, list) and not _MIN_MEMBERS <= len(raw) <= _MAX_MEMBERS:
        path = replicas.tier.at("replicas")
        message = f"must have {_MIN_MEMBERS} to {_MAX_MEMBERS} members"
        yield ConfigProblem(path, ProblemCode.INVALID, message)
    yield from find_duplicates(_valid(replicas.members, "id"), "must be unique in its tier")
    yield from find_duplicates(
        _valid(replicas.members, "resource_id"), "must be unique in its tier"
    )
    yield from find_duplicates(
        ((path, parse_endpoint(url)) for path, url in _valid(replicas.members, "base_url")),
        "must be unique in its tier, once normalised",
    )
    hosts = list(_valid(replicas.members, "host_id"))
    for path, host in hosts:
        if host != hosts[0][1]:
            message = "must be the same for all members of a tier"
            yield ConfigProblem(path, ProblemCode.CONFLICT, message)


def _valid(members: Rows, key: str) -> Iterator[tuple[str, str]]:
    """The valid values of one key with their paths."""
    for member in members:
        value = member.get(key)
        if isinstance(value, str):
            yield member.at(key), value


def _check_identity(replicas: Replicas) -> Iterator[ConfigProblem]:
    if replicas.identity is None:
        yield replicas.tier.missing("replica_identity", "is required with replicas")
    else:
        yield from replicas.identity.problems


def _check_policy(tier: Table) -> Iterator[ConfigProblem]:
    """R005: what every member is checked against is configured, and is checked."""
    if tier.get("metadata_source") == "upstream":
        yield tier.conflict("metadata_source", "must be configured with replicas")
    if tier.get("model_identity") is False:
        yield tier.conflict("model_identity", "must be true with replicas")
    for key in ("model", "health_path"):
        if not tier.has(key):
            yield tier.missing(key, "is required with replicas")


def _check_ceilings(replicas: Replicas) -> Iterator[ConfigProblem]:
    if replicas.tier.get("replica_strategy") != "capacity":
        return
    for member in replicas.members:
        if not member.has("max_concurrency"):
            yield member.missing("max_concurrency", "is required with replica_strategy capacity")
