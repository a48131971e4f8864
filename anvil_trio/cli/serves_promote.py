"""`anvil-serving serves promote`: one serve takes over from another, and the way back."""

from functools import partial

import click
import trio

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.serves_answer import Answer, answer, project_journal, tell_outcome
from anvil_trio.cli.serves_desk import (
    CONFIG_OPTION,
    CONFIRM_OPTION,
    JSON_OPTION,
    MANIFEST_OPTION,
    ROUTER_OPTION,
    Place,
)
from anvil_trio.cli.serves_words import CONFIRM, UNKNOWN_NAME
from anvil_trio.cli.usage import BadUsage
from anvil_trio.lifecycle.progress import steps_of
from anvil_trio.lifecycle.promote import preview, resume_promotion, roll_back_promotion
from anvil_trio.lifecycle.promote import promote as begin_promotion

__all__ = ["promote"]

_ONE_OF = "Only one of --dry-run, --resume and --rollback may be given."


@click.command()
@click.argument("plan", metavar="PLAN")
@MANIFEST_OPTION
@CONFIG_OPTION
@ROUTER_OPTION
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Check and show the steps only.")
@click.option("--resume", "is_resumed", is_flag=True, help="Take up what broke off.")
@click.option("--rollback", "is_rolled_back", is_flag=True, help="Go back to the rollback serve.")
@CONFIRM_OPTION
@JSON_OPTION
def promote(
    plan: str,
    manifest: str | None,
    config: str | None,
    router_url: str | None,
    *,
    is_dry_run: bool,
    is_resumed: bool,
    is_rolled_back: bool,
    is_confirmed: bool,
    is_json: bool,
) -> None:
    """Let one serve take over from another; no request that runs is cut.

    The new serve is started and healthy, its gate passes, the tiers are drained, the router's file
    is replaced and activated, the tiers are opened after a fresh proof, and then the old serve is
    stopped. What fails is undone. Every step is written down before it is done.
    """
    if is_dry_run + is_resumed + is_rolled_back > 1:
        raise BadUsage(_ONE_OF)
    place = Place(manifest, config, router_url)

    async def work() -> Answer:
        found = place.manifest()
        chosen = found.promotion(plan)
        if chosen is None:
            raise CommandFailed(UNKNOWN_NAME)
        desk = place.desk(found)
        planned = preview(desk, chosen)
        if is_dry_run:
            steps = " -> ".join(step.value for step in steps_of(planned.order, planned.path))
            return Answer(
                {"applied": False, "dry_run": True, "operation": project_journal(planned)},
                [f"{chosen.name}: {chosen.rollback} -> {chosen.target}", steps],
            )
        if not is_confirmed:
            raise CommandFailed(CONFIRM)
        if is_resumed:
            return tell_outcome(await resume_promotion(desk, chosen))
        if is_rolled_back:
            return tell_outcome(await roll_back_promotion(desk, chosen))
        return tell_outcome(await begin_promotion(desk, chosen))

    answer("serves promote", partial(trio.run, work), is_json=is_json)
