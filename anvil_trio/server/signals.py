"""SIGTERM and SIGINT: the first one stops gracefully, the second one ends at once."""

import signal
from collections.abc import Callable

import trio

from anvil_trio.server.accept import Server

__all__ = ["run_until_signalled", "watch_signals"]


async def watch_signals(
    stop: trio.Event,
    abort: trio.CancelScope,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Set `stop` at the first SIGTERM or SIGINT and cancel `abort` at the second; then return.

    Started once signals are caught; until it returns or is cancelled they do nothing else.
    """
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            if stop.is_set():
                abort.cancel()
                return
            stop.set()


async def run_until_signalled(server: Server, on_ready: Callable[[], None]) -> bool:
    """Run `server` until a signal, or `server.stop`, ends it. False: a second signal cut it short.

    `on_ready` is called when connections are accepted. Call this from the main thread.
    """
    abort = trio.CancelScope()
    async with trio.open_nursery() as nursery:
        await nursery.start(watch_signals, server.stop, abort)
        with abort:
            async with trio.open_nursery() as serving:
                await serving.start(server.run)
                on_ready()
        nursery.cancel_scope.cancel()
    return not abort.cancelled_caught
