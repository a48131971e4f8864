"""What was read last of every watched engine, whose turn it is, and what is still to be told. Pure.

Bounded by the configuration: exactly its members have an entry, for as long as it lives.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from anvil_trio.facts import Pressure
from anvil_trio.names import MemberId, TierId
from anvil_trio.signals.engines import Fault, Observation
from anvil_trio.signals.freshness import UNWATCHED, Signal, Standing, look, next_read_s, settle

__all__ = ["Board", "Key"]

Key = tuple[TierId, MemberId]


@dataclass(slots=True)
class _Entry:
    ceiling: int | None
    due_at: float
    is_in_flight: bool = False
    standing: Standing = field(default_factory=Standing)


class Board:
    """The watched engines, by tier and member; `ceilings` are what their pressure is measured by.

    `ranked` are the tiers that are told the pressures of their members.
    """

    def __init__(
        self, ceilings: Mapping[Key, int | None], ranked: Iterable[TierId], now: float
    ) -> None:
        self._entries = {key: _Entry(ceiling, due_at=now) for key, ceiling in ceilings.items()}
        self._told: dict[TierId, Mapping[MemberId, Pressure] | None] = dict.fromkeys(ranked)

    def next_due(self) -> tuple[Key, float]:
        """Who is to be read next, and when at the earliest. One of them must not be in flight."""
        waiting = [(e.due_at, key) for key, e in self._entries.items() if not e.is_in_flight]
        due_at, key = min(waiting)
        return key, due_at

    def begin(self, key: Key) -> None:
        """A reading begins; until it has settled this engine is nobody's turn."""
        self._entries[key].is_in_flight = True

    def settle(self, key: Key, found: Observation | Fault, *, began_at: float, now: float) -> None:
        """A reading has ended: at least a second of peace for the engine, more after faults."""
        entry = self._entries[key]
        entry.standing = settle(entry.standing, found, began_at)
        entry.due_at = now + next_read_s(entry.standing)
        entry.is_in_flight = False

    def signal(self, key: Key, now: float) -> Signal:
        """What is known of one engine; of one that nobody reads, that nobody does."""
        entry = self._entries.get(key)
        return UNWATCHED if entry is None else look(entry.standing, entry.ceiling, now)

    def news(self, now: float) -> list[tuple[TierId, Mapping[MemberId, Pressure]]]:
        """What each ranked tier has to be told because it differs from what it was told last.

        Each call counts as the telling; the first tells all of it, whatever was told before us.
        """
        news: list[tuple[TierId, Mapping[MemberId, Pressure]]] = []
        for tier_id, told in self._told.items():
            pressures = self._pressures(tier_id, now)
            if pressures != told:
                news.append((tier_id, pressures))
        self._told.update(news)
        return news

    def next_expiry(self, now: float) -> float:
        """The next moment at which a settled reading grows too old; infinity without one."""
        ends = (entry.standing.expires_at for entry in self._entries.values())
        return min((end for end in ends if end > now), default=math.inf)

    def _pressures(self, tier_id: TierId, now: float) -> Mapping[MemberId, Pressure]:
        return MappingProxyType({
            key[1]: self.signal(key, now).pressure for key in self._entries if key[0] == tier_id
        })
