"""What the operator declared in a tier's `params`: the few values that pages show, or None.

A value of the wrong kind is not declared. The file's own rules refuse it at start; a tier that was
built in code is judged here.
"""

import math
from collections.abc import Mapping

from pydantic import JsonValue

from anvil_trio.config.model import Tier

__all__ = ["Declared", "declared"]


class Declared:
    """One table of `params`."""

    def __init__(self, table: object) -> None:
        self._table: Mapping[str, JsonValue] = table if isinstance(table, Mapping) else {}

    def inner(self, key: str) -> "Declared":
        """The table within this one; an empty one where there is none."""
        return Declared(self._table.get(key))

    def count(self, key: str) -> int | None:
        """A natural number."""
        value = self._table.get(key)
        return value if type(value) is int and value >= 0 else None

    def number(self, key: str) -> int | float | None:
        """A finite number that is not negative."""
        value = self._table.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if math.isfinite(value) and value >= 0 else None

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self._table.get(key)
        return value if isinstance(value, bool) else None

    def text(self, key: str) -> str | None:
        """Text that is not empty."""
        value = self._table.get(key)
        return value if isinstance(value, str) and value else None

    def words(self, key: str) -> list[str] | None:
        """A list of texts."""
        value = self._table.get(key)
        if not isinstance(value, list | tuple):
            return None
        found = [one for one in value if isinstance(one, str)]
        return found if len(found) == len(value) else None


def declared(tier: Tier, key: str) -> Declared:
    """`params.<key>` of a tier."""
    return Declared(tier.params).inner(key)
