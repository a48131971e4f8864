"""`anvil-serving serves mode` and `serves profile`: two GPUs for one serve, or each for its own."""

from collections.abc import Callable
from functools import partial

import click
import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.serves_answer import Answer, answer, project_journal, tell_outcome
from anvil_trio.cli.serves_desk import (
    CONFIG_OPTION,
    CONFIRM_OPTION,
    JSON_OPTION,
    MANIFEST_OPTION,
    ROUTER_OPTION,
    Place,
)
from anvil_trio.cli.serves_words import CONFIRM, UNKNOWN_GROUP, UNKNOWN_NAME
from anvil_trio.lifecycle.model import Manifest, Mode, Profile
from anvil_trio.lifecycle.modes import ModeOrder, change_mode, preview_mode, show_mode

__all__ = ["mode", "profile"]

_POLL_S = 2.0
_target = click.argument("target", metavar="TARGET")
_group = click.option(
    "--restore-group",
    metavar="GROUP",
    required=True,
    help="The serves that have the GPUs when the mode is left.",
)
_id = click.argument("name", metavar="NAME")

MakeOrder = Callable[[Manifest], ModeOrder]


@click.group(no_args_is_help=False)
def mode() -> None:
    """Who has the GPUs: one serve two of them, or each serve its own."""


@click.group(no_args_is_help=False)
def profile() -> None:
    """Modes by a name, out of serve-profiles.toml."""


@mode.command("status")
@MANIFEST_OPTION
@JSON_OPTION
def mode_status(manifest: str | None, *, is_json: bool) -> None:
    """Show how the GPUs are used now; no configuration is needed."""
    place = Place(manifest)

    async def work() -> Answer:
        shown = await show_mode(place.engines(place.manifest()))
        data: JsonValue = {"mode": shown.state.value, "running": [*shown.running]}
        return Answer(data, [f"{shown.state.value}: {', '.join(shown.running) or 'nothing runs'}"])

    answer("serves mode status", partial(trio.run, work), is_json=is_json)


@mode.command("preview")
@_target
@_group
@MANIFEST_OPTION
@CONFIG_OPTION
@ROUTER_OPTION
@JSON_OPTION
def mode_preview(
    target: str,
    restore_group: str,
    manifest: str | None,
    config: str | None,
    router_url: str | None,
    *,
    is_json: bool,
) -> None:
    """Show what entering the mode would do; nothing is changed."""
    place = Place(manifest, config, router_url)
    order = _by_target(Mode.EXCLUSIVE, target, restore_group)
    _preview("serves mode preview", place, order, is_json=is_json)


_UNDONE = "\n\nWhat fails is undone. An operation of this target that broke off is taken up first."


def _changing(name: str, wanted: Mode, does: str) -> None:
    """One of the two commands that change the mode."""

    @mode.command(name, help=does + _UNDONE)
    @_target
    @_group
    @MANIFEST_OPTION
    @CONFIG_OPTION
    @ROUTER_OPTION
    @CONFIRM_OPTION
    @JSON_OPTION
    def change(
        target: str,
        restore_group: str,
        manifest: str | None,
        config: str | None,
        router_url: str | None,
        *,
        is_confirmed: bool,
        is_json: bool,
    ) -> None:
        place = Place(manifest, config, router_url)
        order = _by_target(wanted, target, restore_group)
        _change(f"serves mode {name}", place, order, is_confirmed=is_confirmed, is_json=is_json)


_changing(
    "enter",
    Mode.EXCLUSIVE,
    "Drain and stop every other GPU serve, and give the GPUs to the target.",
)
_changing(
    "leave", Mode.SPLIT, "Drain and stop the target, and start the serves of the restore group."
)


@profile.command("list")
@MANIFEST_OPTION
@JSON_OPTION
def profile_list(manifest: str | None, *, is_json: bool) -> None:
    """List the profiles; no configuration is needed, and nothing is asked or changed."""
    place = Place(manifest)

    def work() -> Answer:
        found = place.profiles(place.manifest())
        lines = [f"{each.id}: {each.mode.value}, {each.exclusive_target}" for each in found]
        return Answer({"profiles": [each.model_dump(mode="json") for each in found]}, lines)

    answer("serves profile list", work, is_json=is_json)


@profile.command("preview")
@_id
@MANIFEST_OPTION
@CONFIG_OPTION
@ROUTER_OPTION
@JSON_OPTION
def profile_preview(
    name: str,
    manifest: str | None,
    config: str | None,
    router_url: str | None,
    *,
    is_json: bool,
) -> None:
    """Show what applying the profile would do; nothing is changed."""
    place = Place(manifest, config, router_url)
    _preview("serves profile preview", place, _by_profile(place, name), is_json=is_json)


@profile.command("apply")
@_id
@MANIFEST_OPTION
@CONFIG_OPTION
@ROUTER_OPTION
@CONFIRM_OPTION
@JSON_OPTION
def profile_apply(
    name: str,
    manifest: str | None,
    config: str | None,
    router_url: str | None,
    *,
    is_confirmed: bool,
    is_json: bool,
) -> None:
    """Enter or leave a mode as the profile says; nothing is done if it is so already."""
    place = Place(manifest, config, router_url)
    order = _by_profile(place, name)
    _change("serves profile apply", place, order, is_confirmed=is_confirmed, is_json=is_json)


def _by_target(wanted: Mode, target: str, group: str) -> MakeOrder:
    def make(manifest: Manifest) -> ModeOrder:
        serve = manifest.serve(target)
        if serve is None or serve.operating_mode is None:
            raise CommandFailed(UNKNOWN_NAME)
        members = manifest.group(group)
        if not members or serve in members:
            raise CommandFailed(UNKNOWN_GROUP)
        late_s = max(each.startup_timeout for each in (serve, *members))
        return ModeOrder(wanted, serve, group, late_s, _POLL_S, serve.name)

    return make


def _by_profile(place: Place, name: str) -> MakeOrder:
    def make(manifest: Manifest) -> ModeOrder:
        found = next((each for each in place.profiles(manifest) if each.id == name), None)
        if found is None:
            raise CommandFailed(UNKNOWN_NAME)
        return _order_of(found, manifest)

    return make


def _order_of(found: Profile, manifest: Manifest) -> ModeOrder:
    serve = manifest.serve(found.exclusive_target)
    assert serve is not None, "profiles name serves of the set"
    return ModeOrder(
        mode=found.mode,
        target=serve,
        group=found.restore_group,
        startup_timeout_s=found.startup_timeout,
        poll_interval_s=found.poll_interval,
        subject=found.id,
    )


def _preview(command: str, place: Place, make: MakeOrder, *, is_json: bool) -> None:
    async def work() -> Answer:
        manifest = place.manifest()
        planned = project_journal(await preview_mode(place.desk(manifest), make(manifest)))
        lines = [
            f"{key}: {_joined(planned[key])}" for key in ("stops", "starts", "closes", "opens")
        ]
        return Answer({"applied": False, "dry_run": True, "operation": planned}, lines)

    answer(command, partial(trio.run, work), is_json=is_json, refused_as=Exit.USAGE)


def _change(
    command: str, place: Place, make: MakeOrder, *, is_confirmed: bool, is_json: bool
) -> None:
    async def work() -> Answer:
        manifest = place.manifest()
        desk, order = place.desk(manifest), make(manifest)
        if not is_confirmed:
            await preview_mode(desk, order)  # what is refused is refused first
            raise CommandFailed(CONFIRM)
        outcome = await change_mode(desk, order)
        if outcome is None:
            return Answer({"applied": False, "operation": None}, ["it is so already"])
        return tell_outcome(outcome)

    answer(command, partial(trio.run, work), is_json=is_json, refused_as=Exit.USAGE)


def _joined(names: JsonValue) -> str:
    assert isinstance(names, list), "an operation lists names"
    return ", ".join(map(str, names)) or "-"
