"""The rows of a page that has one per tier: in the order of the file, with the tier's aliases."""

from collections.abc import Iterator
from dataclasses import dataclass

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import Alias

__all__ = ["TierRow", "rows_of"]


@dataclass(frozen=True, slots=True)
class TierRow:
    """One tier, and all names that it has."""

    tier: Tier
    aliases: list[str]


def rows_of(config: RouterConfig, only: Alias | None = None) -> Iterator[TierRow]:
    """Each tier once (T010), available or not; `only` leaves the tier of one alias."""
    wanted = None if only is None else config.routes.get(only)
    for tier in config.tiers:
        if only is None or tier.id == wanted:
            yield TierRow(tier, sorted(a for a, named in config.routes.items() if named == tier.id))
