"""What an activation shows: which bytes are at work, and which tiers there were and will be."""

from anvil_trio.config.model import RouterConfig
from anvil_trio.views.shape import Shape

__all__ = ["Activation", "project_activation"]


class Activation(Shape, frozen=True, kw_only=True):
    """One configuration took over from another, or, on a dry run, could."""

    applied: bool
    dry_run: bool
    installed_config_sha256: str
    config_sha256: str
    current_tiers: list[str]
    desired_tiers: list[str]


def project_activation(old: RouterConfig, new: RouterConfig, *, is_applied: bool) -> Activation:
    """From the configuration at work before the order to the one that it names."""
    return Activation(
        applied=is_applied,
        dry_run=not is_applied,
        installed_config_sha256=(new if is_applied else old).sha256,
        config_sha256=new.sha256,
        current_tiers=[tier.id for tier in old.tiers],
        desired_tiers=[tier.id for tier in new.tiers],
    )
