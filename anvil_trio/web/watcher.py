"""Stands in for `on_gone` under a server that does not tell: one task awaiting `receive()`.

This is the one nursery outside the list of those that own tasks (decision 39). It costs a task
and a nursery per request, and under stock hypercorn it never fires when bytes follow the body.
"""

from collections.abc import Awaitable, Callable

import trio

__all__ = ["run_watched"]


async def run_watched(
    work: Callable[[], Awaitable[None]],
    wait_for_leaving: Callable[[], Awaitable[None]],
    has_left: Callable[[], None],
) -> None:
    """Run `work` to its end; meanwhile `has_left` is called once the caller is seen to leave."""

    async def watch() -> None:
        await wait_for_leaving()
        has_left()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await work()
        nursery.cancel_scope.cancel()
