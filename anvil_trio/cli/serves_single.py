"""`anvil-serving serves up|down|status|list|up-for`: one serve, or the members of a group."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import click
import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.serves_answer import Answer, answer
from anvil_trio.cli.serves_desk import (
    CONFIG_OPTION,
    CONFIRM_OPTION,
    JSON_OPTION,
    MANIFEST_OPTION,
    Place,
)
from anvil_trio.cli.serves_words import CONFIRM, NO_SUCH_ALIAS, UNKNOWN_NAME, explain_failure
from anvil_trio.lifecycle.desk import guard
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.events import EventKind, Events
from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.files import capture
from anvil_trio.lifecycle.guard import LifecycleRefusal
from anvil_trio.lifecycle.model import Serve

__all__ = ["down", "list_serves", "status", "up", "up_for"]

_PARTIAL = Failure(Exit.PARTIAL, "serves_partial", "Some of them were done and some were not.")
_NO_CONFIG = Failure(
    Exit.USAGE,
    LifecycleRefusal.CONFIGURATION_UNAVAILABLE.value,
    LifecycleRefusal.CONFIGURATION_UNAVAILABLE.value,
)
_name = click.argument("name", metavar="NAME")


@click.command()
@_name
@MANIFEST_OPTION
@CONFIRM_OPTION
@JSON_OPTION
def up(name: str, manifest: str | None, *, is_confirmed: bool, is_json: bool) -> None:
    """Start a serve, or all of a group, and wait until each is healthy.

    What runs already is left alone. `all` names every serve.
    """
    place = Place(manifest)

    async def work() -> Answer:
        found = place.manifest()
        engines = place.engines(found)

        async def start(serve: Serve) -> None:
            await engines.start(serve, within_s=serve.startup_timeout)

        chosen = _chosen(found.select(name), is_confirmed=is_confirmed)
        with place.lock():
            return await _each(chosen, start, place.events(), EventKind.SERVE_UP)

    answer("serves up", partial(trio.run, work), is_json=is_json)


@click.command()
@_name
@MANIFEST_OPTION
@CONFIRM_OPTION
@JSON_OPTION
def down(name: str, manifest: str | None, *, is_confirmed: bool, is_json: bool) -> None:
    """Stop a serve, or all of a group.

    Each is asked to end and killed after its stop_timeout_s. `router quiesce` and `router drain`
    come first where requests may run.
    """
    place = Place(manifest)

    async def work() -> Answer:
        found = place.manifest()
        chosen = _chosen(found.select(name), is_confirmed=is_confirmed)
        with place.lock():
            stop = place.engines(found).stop
            return await _each(chosen, stop, place.events(), EventKind.SERVE_DOWN)

    answer("serves down", partial(trio.run, work), is_json=is_json)


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@MANIFEST_OPTION
@JSON_OPTION
def status(name: str | None, manifest: str | None, *, is_json: bool) -> None:
    """Show which serves run and answer well: one, a group, or all."""
    place = Place(manifest)

    async def work() -> Answer:
        found = place.manifest()
        chosen = found.serves if name is None else found.select(name)
        if name is not None and not chosen:
            raise CommandFailed(UNKNOWN_NAME)
        engines = place.engines(found)
        rows = [await _state(engines, serve) for serve in chosen]
        lines = [f"{row['name']}: {row['state']}, {_good(row['healthy'])}" for row in rows]
        return Answer({"serves": [*rows]}, lines)

    answer("serves status", partial(trio.run, work), is_json=is_json)


@click.command("list")
@MANIFEST_OPTION
@JSON_OPTION
def list_serves(manifest: str | None, *, is_json: bool) -> None:
    """List the serves, GPUs and promotions that the files declare; nothing is asked or changed."""
    place = Place(manifest)

    def work() -> Answer:
        found = place.manifest()
        lines = [f"{each.name}: {each.runtime.value}, port {each.port}" for each in found.serves]
        lines += [f"{plan.name}: promotes {plan.target}" for plan in found.promotions]
        data: JsonValue = {
            "serves": [_declared(serve) for serve in found.serves],
            "gpu_roles": [role.model_dump(mode="json") for role in found.gpu_roles],
            "promotions": [
                {
                    "name": plan.name,
                    "target": plan.target,
                    "rollback": plan.rollback,
                    "affected_tiers": [*plan.affected_tiers],
                    "candidate": plan.candidate or None,
                }
                for plan in found.promotions
            ],
        }
        return Answer(data, lines)

    answer("serves list", work, is_json=is_json)


@click.command("up-for")
@click.argument("alias", metavar="ALIAS")
@MANIFEST_OPTION
@CONFIG_OPTION
@CONFIRM_OPTION
@JSON_OPTION
def up_for(
    alias: str, manifest: str | None, config: str | None, *, is_confirmed: bool, is_json: bool
) -> None:
    """Show which serve stands behind an alias, and start it with --confirm.

    Refused for a tier with replicas: its members are started one by one, by their names.
    """
    place = Place(manifest, config)

    async def work() -> Answer:
        serve, chain = _backer(place, alias)
        if not is_confirmed:
            return Answer({**chain, "started": False}, [" -> ".join(map(str, chain.values()))])
        with place.lock():
            engines = place.engines(place.manifest())
            await engines.start(serve, within_s=serve.startup_timeout)
            is_told = await place.events().record(EventKind.SERVE_UP, serve.name)
        data: JsonValue = {**chain, "started": True, "event_recorded": is_told}
        return Answer(data, [f"{serve.name}: up"])

    answer("serves up-for", partial(trio.run, work), is_json=is_json)


def _backer(place: Place, alias: str) -> tuple[Serve, dict[str, JsonValue]]:
    """The one serve behind an alias. The guard (T012.1) comes before any candidate is looked at."""
    config = capture(place.live_config).config
    if config is None:
        raise CommandFailed(_NO_CONFIG)
    found = config.resolve(alias)
    if found is None:
        names = ", ".join(config.routes)
        message = f"{NO_SUCH_ALIAS.message} It has: {names if names.isprintable() else '?'}."
        raise CommandFailed(Failure(NO_SUCH_ALIAS.status, NO_SUCH_ALIAS.code, message))
    known, tier = found
    guard([tier.id], config)
    backers = [serve for serve in place.manifest().serves if serve.router_tier == tier.id]
    if len(backers) != 1:
        word = "missing" if not backers else "ambiguous"
        raise LifecycleFailed(f"serve_backer_{word}")
    return backers[0], {"alias": known, "tier": tier.id, "serve": backers[0].name}


def _chosen(serves: Sequence[Serve], *, is_confirmed: bool) -> Sequence[Serve]:
    if not serves:
        raise CommandFailed(UNKNOWN_NAME)
    if not is_confirmed:
        raise CommandFailed(CONFIRM)
    return serves


async def _each(
    serves: Sequence[Serve],
    act: Callable[[Serve], Awaitable[None]],
    events: Events,
    kind: EventKind,
) -> Answer:
    """Do it for one after the other; what fails does not keep the others from it."""
    rows: list[JsonValue] = []
    lines: list[str] = []
    codes: list[str] = []
    for serve in serves:
        try:
            await act(serve)
        except LifecycleFailed as failed:
            codes.append(failed.code)
            rows.append({"name": serve.name, "done": False, "code": failed.code})
            lines.append(f"{serve.name}: {failed.code}")
        else:
            is_told = await events.record(kind, serve.name)
            rows.append({"name": serve.name, "done": True, "event_recorded": is_told})
            lines.append(f"{serve.name}: {kind.value.rpartition('.')[2]}")
    failure = None
    if codes:
        is_part = len(codes) < len(serves)
        failure = _PARTIAL if is_part else explain_failure(codes[0])
    return Answer({"serves": rows}, lines, failure)


async def _state(engines: Engines, serve: Serve) -> dict[str, JsonValue]:
    presence = await engines.find(serve)
    is_good = await engines.is_healthy(serve)
    return {"name": serve.name, "state": presence.value, "healthy": is_good}


def _good(is_healthy: JsonValue) -> str:
    return "healthy" if is_healthy is True else "not healthy"


def _declared(serve: Serve) -> JsonValue:
    """What is shown of a serve: no command, no path, no shell text."""
    return {
        "name": serve.name,
        "runtime": serve.runtime.value,
        "port": serve.port,
        "model": serve.served_name or serve.model,
        "engine": serve.engine,
        "stack": serve.stack,
        "groups": [*serve.groups],
        "router_tier": serve.router_tier or None,
        "gpu_roles": [*serve.roles],
        "vram_mib": serve.vram_mib or None,
        "residency": serve.residency,
        "operating_mode": serve.operating_mode,
        "shared_volumes": len(serve.shared_volumes),
    }
