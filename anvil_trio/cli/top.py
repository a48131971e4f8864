"""`anvil-serving router top`: a live view of tiers and members, or one snapshot where none can be.

It reads the pages at an interval and follows the feed; it changes nothing and is one client among
others. A router that goes away is waited for.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

import click
import trio
from pydantic import JsonValue
from rich.console import Console
from rich.live import Live

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.feed_client import follow_feed
from anvil_trio.cli.reach import Reach, Told, reach_params, resolve_reach
from anvil_trio.cli.reading import open_console
from anvil_trio.cli.replies import StatusPage, plain_text, read_page
from anvil_trio.cli.router_client import ACCESS_DENIED, ask_router
from anvil_trio.cli.running import run
from anvil_trio.cli.status import STATUS_PATH
from anvil_trio.cli.top_model import (
    Event,
    FeedChanged,
    FeedState,
    Polled,
    RouterRow,
    Top,
    Unreached,
    advance,
)
from anvil_trio.cli.top_model import Told as FeedTold
from anvil_trio.cli.top_replies import read_message, read_tiers
from anvil_trio.cli.top_view import render_top
from anvil_trio.cli.values import SecondsRange
from anvil_trio.config.load import current_folder

__all__ = ["RouterSource", "Source", "show_once", "top", "watch"]

_CAPACITY = "/v1/models/capacity"
_DRAW_S = 0.25
_AGE_S = 1.0
_RETRY_S = 1.0
_RETRY_REFUSED_S = 30.0


class Source(Protocol):
    """Where the view comes from."""

    async def poll(self) -> Polled:
        """The pages as they are now. Raises CommandFailed."""
        ...

    async def follow(
        self, on_open: Callable[[], None], tell: Callable[[Mapping[str, JsonValue]], None]
    ) -> bool:
        """The feed, to its end; whether to try again soon. Never raises."""
        ...


class RouterSource:
    """A router that runs."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def poll(self) -> Polled:
        """See `Source`. A status page that this credential may not see is left out."""
        tiers = read_tiers(await ask_router(self._reach.question(_CAPACITY)))
        try:
            page = read_page(await ask_router(self._reach.question(STATUS_PATH)), StatusPage)
        except CommandFailed as failed:
            if failed.failure is not ACCESS_DENIED:
                raise
            return Polled(tiers, None)
        return Polled(tiers, RouterRow(plain_text(page.package_version), page.uptime_seconds))

    async def follow(
        self, on_open: Callable[[], None], tell: Callable[[Mapping[str, JsonValue]], None]
    ) -> bool:
        """See `Source`."""
        return await follow_feed(self._reach, on_open, tell)


async def show_once(source: Source, console: Console) -> None:
    """Print one snapshot. Raises CommandFailed."""
    state = advance(Top(), await source.poll())
    console.print(render_top(state, trio.current_time(), is_live=False))


async def watch(source: Source, console: Console, interval_s: float) -> Failure | None:
    """Draw until cancelled, or until the router no longer takes the credential: then why.

    Raises CommandFailed if the router cannot be asked at all; one that answered once is waited for.
    """
    return await _Watch(source, console, interval_s).run()


class _Watch:
    """The one state, and the three that live on it: pages, feed, screen."""

    def __init__(self, source: Source, console: Console, interval_s: float) -> None:
        self._source, self._console, self._interval_s = source, console, interval_s
        self._state = Top()
        self._failure: Failure | None = None

    async def run(self) -> Failure | None:
        self._take(await self._source.poll())
        with Live(console=self._console, auto_refresh=False, screen=True) as live:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow)
                nursery.start_soon(self._draw, live)
                await self._poll()
                nursery.cancel_scope.cancel()
        return self._failure

    async def _poll(self) -> None:
        """Until the credential is refused: no new try would change that."""
        while True:
            await trio.sleep(self._interval_s)
            try:
                self._take(await self._source.poll())
            except CommandFailed as failed:
                if failed.failure is ACCESS_DENIED:
                    self._failure = failed.failure
                    return
                self._take(Unreached(failed.failure.code))

    async def _follow(self) -> None:
        while True:
            is_lost = await self._source.follow(
                partial(self._take, FeedChanged(FeedState.LIVE)), self._hear
            )
            self._take(FeedChanged(FeedState.LOST if is_lost else FeedState.REFUSED))
            await trio.sleep(_RETRY_S if is_lost else _RETRY_REFUSED_S)

    async def _draw(self, live: Live) -> None:
        """When something has changed, and once a second for what is told by its age."""
        drawn, drawn_at = None, 0.0
        while True:
            now = trio.current_time()
            if drawn is not self._state or now - drawn_at >= _AGE_S:
                drawn, drawn_at = self._state, now
                live.update(render_top(drawn, now, is_live=True), refresh=True)
            await trio.sleep(_DRAW_S)

    def _hear(self, message: Mapping[str, JsonValue]) -> None:
        told = read_message(message)
        if told is not None:
            self._take(FeedTold(told, trio.current_time()))

    def _take(self, event: Event) -> None:
        self._state = advance(self._state, event)


def _run(
    config: str | None,
    router_url: str | None,
    auth_env: str | None,
    timeout: float | None,
    interval: float,
    *,
    is_once: bool,
) -> None:
    console = open_console()
    failure: Failure | None = None

    async def show() -> None:
        nonlocal failure
        try:
            told = Told(config, router_url, auth_env, timeout)
            source = RouterSource(resolve_reach(told, os.environ, current_folder()))
            if is_once or not console.is_terminal or console.is_dumb_terminal:
                await show_once(source, console)
            else:
                failure = await watch(source, console, interval)
        except CommandFailed as failed:
            failure = failed.failure

    run(show, on_interrupt=Exit.SUCCESS)
    if failure is not None:
        click.echo(f"{failure.code}: {failure.message}", err=True)
        sys.exit(failure.status)


top = click.Command(
    "top",
    callback=_run,
    params=[
        *reach_params(),
        click.Option(
            ["--interval"],
            type=SecondsRange(0.2, 60),
            default=1.0,
            show_default=True,
            help="Seconds between two looks at the pages; the feed tells changes at once.",
        ),
        click.Option(["--once", "is_once"], is_flag=True, help="Print one snapshot and end."),
    ],
    help="Watch tiers, members and the last outcomes live, until Ctrl-C.\n\nThe pages tell the "
    "intents of a capacity tier's members alone; see also `router transition-status`.",
)
