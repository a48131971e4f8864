"""`[router]`: its own keys, its tiers, its aliases and the services beside them."""

from collections.abc import Iterator
from dataclasses import dataclass

from anvil_trio.config.model import AudioRoute, PurposeModel, RouterSettings, Tier
from anvil_trio.config.problems import ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.routes import Route, find_route_problems, make_routes, read_routes
from anvil_trio.config.services import (
    find_audio_problems,
    find_purpose_problems,
    make_audio_routes,
    make_purpose_models,
    read_audio_routes,
    read_purpose_models,
)
from anvil_trio.config.table import Rows, Table, read_table
from anvil_trio.config.tiers import TierTables, find_tier_problems, make_tier, read_tier
from anvil_trio.names import TierId

__all__ = [
    "RouterTables",
    "find_router_problems",
    "make_aliases",
    "make_router",
    "make_services",
    "make_tiers",
    "read_router",
]

_TABLES = frozenset({"tiers", "model_routes", "purpose_models", "audio_routes"})


class _RouterTable(RouterSettings):
    """The keys of the file."""

    purpose_models: tuple[object, ...] = ()  # checked by `services.py`, as the next
    audio_routes: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class RouterTables:
    """What the file says in `[router]`."""

    table: Table
    tiers: tuple[TierTables, ...]
    routes: tuple[Route, ...]
    purpose_models: Rows
    audio_routes: Rows


def read_router(raw: object) -> RouterTables:
    """`[router]`, each of its keys and tables checked by itself."""
    table = read_table(_RouterTable, raw, "router", elsewhere=_TABLES)
    tiers, routes = table.raw.get("tiers"), table.raw.get("model_routes")
    return RouterTables(
        table=table,
        tiers=tuple(
            read_tier(row, f"router.tiers[{index}]")
            for index, row in enumerate(tiers if isinstance(tiers, list) else ())
        ),
        routes=read_routes(routes) if isinstance(routes, dict) else (),
        purpose_models=read_purpose_models(
            table.raw.get("purpose_models", []), table.at("purpose_models")
        ),
        audio_routes=read_audio_routes(table.raw.get("audio_routes", []), table.at("audio_routes")),
    )


def find_router_problems(
    router: RouterTables, server: Table, *, may_be_empty: bool
) -> Iterator[ConfigProblem]:
    """All that is wrong with `[router]`, which `may_be_empty` where there is a media gateway."""
    yield from router.table.problems
    if not router.table.is_table:
        return
    yield from _check_shape(router.table, may_be_empty=may_be_empty)
    for tier in router.tiers:
        yield from find_tier_problems(tier)
    if router.routes:
        yield from find_route_problems(router.routes, [tier.table for tier in router.tiers])
    yield from find_purpose_problems(router.purpose_models)
    yield from find_audio_problems(router.audio_routes, router.table.at("audio_routes"), server)
    yield from _check_ids(router)


def make_router(router: RouterTables) -> RouterSettings:
    """The scalars of a table without problems."""
    return RouterSettings.model_validate(router.table.only(RouterSettings.model_fields))


def make_tiers(router: RouterTables) -> tuple[Tier, ...]:
    """The tiers, in the order of the file, of a table without problems."""
    return tuple(make_tier(tier) for tier in router.tiers)


def make_aliases(router: RouterTables) -> dict[str, TierId]:
    """The routes, in the order of the file, of a table without problems."""
    return make_routes(router.routes)


def make_services(
    router: RouterTables,
) -> tuple[tuple[PurposeModel, ...], tuple[AudioRoute, ...]]:
    """The services beside chat, in the order of the file, of a table without problems."""
    return make_purpose_models(router.purpose_models), make_audio_routes(router.audio_routes)


def _check_shape(table: Table, *, may_be_empty: bool) -> Iterator[ConfigProblem]:
    shapes = (
        ("tiers", list, "must be an array of at least one table"),
        ("model_routes", dict, "must be a table of at least one alias"),
    )
    for key, shape, message in shapes:
        value = table.raw.get(key)
        if not table.has(key):
            if not may_be_empty:
                yield table.missing(key, "is required")
        elif not isinstance(value, shape) or not (value or may_be_empty):
            yield ConfigProblem(table.at(key), ProblemCode.INVALID, message)


def _check_ids(router: RouterTables) -> Iterator[ConfigProblem]:
    tables = [tier.table for tier in router.tiers]
    tables += [*router.purpose_models, *router.audio_routes]
    named = [(table.at("id"), table.get("id")) for table in tables]
    yield from find_duplicates(
        ((path, name) for path, name in named if name is not None),
        "must be unique among tiers, purpose_models and audio_routes",
    )
