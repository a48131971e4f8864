"""`[router.model_routes]`: each alias names exactly one tier (R001)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anvil_trio.config.problems import ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.table import Table
from anvil_trio.names import TierId, normalise_alias

__all__ = ["Route", "find_route_problems", "make_routes", "read_routes"]

_MAX_PARTS = 64
_SHOWN_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,127}")


@dataclass(frozen=True, slots=True)
class Route:
    """One alias as the file spells it, and whatever it stands for."""

    spelling: str
    target: object

    @property
    def path(self) -> str:
        """The key path; an alias is shown only if it cannot be mistaken for anything else."""
        shown = f'"{self.spelling}"' if _SHOWN_ALIAS.fullmatch(self.spelling) else "(quoted key)"
        return f"router.model_routes.{shown}"


def read_routes(raw: Mapping[str, object]) -> tuple[Route, ...]:
    """All aliases in the order of the file; nested tables are spelled with dots.

    A table without keys, or below 64 others, is left as the target of its own alias.
    """
    found: list[Route] = []
    waiting = _inside((), raw)
    while waiting:
        parts, value = waiting.pop()
        if isinstance(value, dict) and value and len(parts) < _MAX_PARTS:
            waiting += _inside(parts, value)
        else:
            found.append(Route(".".join(parts), value))
    return tuple(found)


def _inside(
    parts: tuple[str, ...], table: Mapping[str, object]
) -> list[tuple[tuple[str, ...], object]]:
    """What stands in `table`, last first, because the next to be read is taken from the end."""
    return [((*parts, key), value) for key, value in reversed(list(table.items()))]


def find_route_problems(routes: Sequence[Route], tiers: Sequence[Table]) -> Iterator[ConfigProblem]:
    """All that is wrong between the aliases and the tiers of one file."""
    ids = [tier.get("id") for tier in tiers]
    for route in routes:
        if not normalise_alias(route.spelling):
            yield ConfigProblem(
                route.path, ProblemCode.INVALID, "must be an alias that is not blank"
            )
        if not isinstance(route.target, str):
            yield ConfigProblem(route.path, ProblemCode.INVALID, "must be the id of a tier")
        elif route.target not in ids and None not in ids:  # None: a tier whose id is wrong
            message = "must be the id of a tier"
            yield ConfigProblem(route.path, ProblemCode.UNKNOWN_REFERENCE, message)
    yield from find_duplicates(
        ((route.path, normalise_alias(route.spelling)) for route in routes),
        "must be unique, once trimmed and in lower case",
    )
    targets = [route.target for route in routes]
    for tier in tiers:
        if tier.get("id") is not None and tier.get("id") not in targets:
            yield tier.conflict("id", "must be the target of at least one alias")


def make_routes(routes: Sequence[Route]) -> dict[str, TierId]:
    """The table of routes without problems, in the order of the file."""
    return {normalise_alias(route.spelling): TierId(str(route.target)) for route in routes}
