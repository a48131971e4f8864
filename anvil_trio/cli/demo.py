"""`anvil-serving demo`, and the engine it is made of."""

import logging
import sys
from functools import partial

import click
from rich.console import Console

from anvil_trio.cli.events import set_up_events
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.running import run
from anvil_trio.cli.stage import ConsoleStage
from anvil_trio.cli.usage import BadUsage
from anvil_trio.cli.values import SecondsRange
from anvil_trio.demo.engine import EngineOptions
from anvil_trio.demo.run import DemoOptions, run_demo
from anvil_trio.demo.serve import serve_until_signalled
from anvil_trio.demo.slots import Pace

__all__ = ["demo", "demo_engine"]

_MAX_MEMBERS = 16
_HINT = "Not every request was answered. An engine must serve --model and answer GET /health."

_port = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port to listen on; 0 takes any free one.",
)


@click.command()
@click.option(
    "--member",
    "urls",
    metavar="URL",
    multiple=True,
    help="An engine that already runs; give it once for each, 1 to 16 times. Needs --model.",
)
@click.option("--model", metavar="NAME", help="The name under which those engines serve.")
@click.option("--once", "is_once", is_flag=True, help="End after the show.")
@_port
def demo(urls: tuple[str, ...], model: str | None, port: int, *, is_once: bool) -> None:
    """Show the router at work: four requests and a stream, and which member took which.

    Starts two embedded engines and a router in front of them, all on loopback, then keeps serving
    and prints curl lines until Ctrl-C. With --member, the engines are yours; a key for them is
    read from ANVIL_DEMO_ENGINE_KEY.
    """
    if bool(urls) != (model is not None):
        raise BadUsage("--member and --model go together.")
    if len(urls) > _MAX_MEMBERS:
        raise BadUsage(f"There may be at most {_MAX_MEMBERS} members.")
    set_up_events(least=logging.WARNING)
    options = DemoOptions(urls, model or EngineOptions().model, port, is_once=is_once)
    stage = ConsoleStage(Console(highlight=False, soft_wrap=True))
    failures = 0

    async def show() -> None:
        nonlocal failures
        failures = await run_demo(options, stage)

    run(show, on_interrupt=Exit.SUCCESS)
    if failures:
        click.echo(_HINT, err=True)
        sys.exit(Exit.EXECUTION)


@click.command("demo-engine")
@_port
@click.option("--model", default=EngineOptions().model, show_default=True, help="The served name.")
@click.option(
    "--slots",
    type=click.IntRange(1, 1024),
    default=EngineOptions().slots,
    show_default=True,
    help="How many requests run at once; others wait in line.",
)
@click.option(
    "--tokens-per-second",
    type=SecondsRange(0, min_open=True),
    default=Pace().tokens_per_second,
    show_default=True,
    help="How fast each slot writes.",
)
def demo_engine(port: int, model: str, slots: int, tokens_per_second: float) -> None:
    """Run one of the demo's engines alone, on loopback, until SIGTERM or Ctrl-C.

    It speaks OpenAI's chat API and writes the same text to the same prompt, as fast as its slots
    allow. Prints `listening on URL` when it takes requests.
    """
    set_up_events(least=logging.WARNING)
    options = EngineOptions(model=model, slots=slots, pace=Pace(tokens_per_second))
    run(
        partial(serve_until_signalled, options, port, lambda url: click.echo(f"listening on {url}"))
    )
