"""The join of a router's members with a topology: each resource is there, once, as declared (R004).

By names and normal forms alone: no address decides who owns what, and nothing is resolved.
"""

from anvil_trio.config.endpoints import parse_endpoint
from anvil_trio.config.model import ReplicaMember, RouterConfig
from anvil_trio.topology.codes import RefusalCode
from anvil_trio.topology.model import Resource, Topology

__all__ = ["check_join"]


def check_join(config: RouterConfig, topology: Topology) -> RefusalCode | None:
    """The first thing that is wrong, by tiers and then members in the order of the file, or None.

    A tier without replicas has nothing to be joined.
    """
    taken = set[str]()
    resources = topology.resource_by_id
    for tier in config.tiers:
        for member in tier.replicas:
            if member.resource_id in taken:
                return RefusalCode.RESOURCE_REUSED
            taken.add(member.resource_id)
            refusal = _check_member(member, resources.get(member.resource_id))
            if refusal is not None:
                return refusal
        if len({member.host_id for member in tier.replicas}) > 1:
            return RefusalCode.HOST_SPLIT
    return None


def _check_member(member: ReplicaMember, resource: Resource | None) -> RefusalCode | None:
    if resource is None:
        return RefusalCode.RESOURCE_MISSING
    if resource.host != member.host_id:
        return RefusalCode.HOST_MISMATCH
    if resource.endpoint is None:
        return RefusalCode.ENDPOINT_MISSING
    declared = parse_endpoint(resource.endpoint)
    # A fault, which a query is here, equals no endpoint, and a member's own URL has none.
    if declared != parse_endpoint(member.base_url):
        return RefusalCode.ENDPOINT_MISMATCH
    return None
