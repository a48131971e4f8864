"""The fixed codes of a refused configuration: all that is ever said of one (R012)."""

from enum import StrEnum

__all__ = ["RefusalCode"]


class RefusalCode(StrEnum):
    """Why a router configuration may not be activated, in the order in which it is tried."""

    CONFIG_TOO_LARGE = "config_too_large"
    ROUTER_CONFIG_INVALID = "router_config_invalid"
    TOPOLOGY_INVALID = "topology_invalid"
    RESOURCE_REUSED = "replica_resource_reused"
    RESOURCE_MISSING = "replica_resource_missing"
    HOST_MISMATCH = "replica_host_mismatch"
    ENDPOINT_MISSING = "replica_endpoint_missing"
    ENDPOINT_MISMATCH = "replica_endpoint_mismatch"
    HOST_SPLIT = "replica_host_split"
