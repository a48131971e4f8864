"""Engines on real loopback sockets."""

import socket
from collections.abc import Callable

import trio

from anvil_trio.demo.engine import Engine, EngineOptions
from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.signals import run_until_signalled

__all__ = ["serve_engine", "serve_until_signalled"]

_HOST = "127.0.0.1"
_OPTIONS = ServerOptions(shutdown_timeout_s=5)


async def serve_engine(
    options: EngineOptions,
    port: int = 0,
    *,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve one engine until cancelled; started with its URL once it takes requests.

    Raises OSError if it cannot listen on `port`; 0 is any free one.
    """
    listener = listen(_HOST, port)
    async with trio.open_nursery() as nursery:
        await nursery.start(Server(Engine(options), _OPTIONS, [listener]).run)
        task_status.started(_url(listener))


async def serve_until_signalled(
    options: EngineOptions, port: int, on_ready: Callable[[str], None]
) -> None:
    """Serve one engine until SIGTERM or SIGINT; `on_ready` is told its URL.

    Running requests then have five seconds; a second signal ends them at once. Raises OSError if it
    cannot listen on `port`.
    """
    listener = listen(_HOST, port)
    server = Server(Engine(options), _OPTIONS, [listener])
    await run_until_signalled(server, lambda: on_ready(_url(listener)))


def _url(listener: socket.socket) -> str:
    return f"http://{_HOST}:{listener.getsockname()[1]}"
