"""Whether a lifecycle operation may begin: it assumes one serve behind a tier, so never replicas.

T012: whoever starts, stops or promotes asks here first, before any lock, journal, event, process or
router is touched, and once more wherever such an operation is entered again. What a manifest says
about a tier proves nothing; only a parsed configuration does.
"""

from collections.abc import Collection
from enum import StrEnum

from anvil_trio.config.model import RouterConfig
from anvil_trio.names import TierId

__all__ = ["MAX_AFFECTED_TIERS", "LifecycleRefusal", "check_lifecycle"]

MAX_AFFECTED_TIERS = 200


class LifecycleRefusal(StrEnum):
    """Why an operation may not begin; the code is also all that is said."""

    UNSUPPORTED = "replica_lifecycle_unsupported"
    CONFIGURATION_UNAVAILABLE = "replica_lifecycle_configuration_unavailable"


def check_lifecycle(
    affected: Collection[TierId], *configs: RouterConfig | None
) -> LifecycleRefusal | None:
    """Why the `affected` tiers may not be operated on, or None.

    Each of `configs` must know them all: the active configuration, or for a promotion the promoted
    and the rollback one. None stands for a configuration that is missing or not valid, and never
    for one without replicas. An operation without an affected tier needs no configuration; other
    tiers of a configuration do not matter.
    """
    if not affected:
        return None
    if not configs or len(affected) > MAX_AFFECTED_TIERS:
        return LifecycleRefusal.CONFIGURATION_UNAVAILABLE
    refusals = {_check(affected, config) for config in configs}
    # What is unknown is told first: it may have replicas too.
    order = (LifecycleRefusal.CONFIGURATION_UNAVAILABLE, LifecycleRefusal.UNSUPPORTED)
    return next((refusal for refusal in order if refusal in refusals), None)


def _check(affected: Collection[TierId], config: RouterConfig | None) -> LifecycleRefusal | None:
    if config is None:
        return LifecycleRefusal.CONFIGURATION_UNAVAILABLE
    tiers = {TierId(tier.id): tier for tier in config.tiers}
    if not tiers.keys() >= set(affected):
        return LifecycleRefusal.CONFIGURATION_UNAVAILABLE
    if any(tiers[tier_id].is_replica for tier_id in affected):
        return LifecycleRefusal.UNSUPPORTED
    return None
