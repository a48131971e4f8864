"""The server: its sockets, the loop that accepts, and how it stops."""

import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

import trio

from anvil_trio.net.arrivals import open_arrivals
from anvil_trio.net.sockets import close
from anvil_trio.server.asgi import App, TypedApp
from anvil_trio.server.connection import Shared, serve_connection
from anvil_trio.server.flusher import Flusher
from anvil_trio.server.hypercorn_names import ASGIFramework, Lifespan, wrap_app
from anvil_trio.server.log import ServerLog
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.settings import HypercornSettings, ServerContext

__all__ = ["Server"]

_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
_PAUSE_S = 0.1
_ACCEPTS_A_TURN = 64
_MOST_LATE_S = 1.0


def _nothing() -> None:
    pass


class Server:
    """Serves one ASGI application on listening sockets, until `stop` is set, once.

    `on_stopping` is called at once when `stop` is set, `on_deadline` when `shutdown_timeout_s` is
    over; neither may wait or raise.
    """

    def __init__(
        self,
        app: App,
        options: ServerOptions,
        sockets: Sequence[socket.socket],
        *,
        on_stopping: Callable[[], None] = _nothing,
        on_deadline: Callable[[], None] = _nothing,
    ) -> None:
        self.stop = trio.Event()
        self._options = options
        self._sockets = sockets
        self._on_stopping = on_stopping
        self._on_deadline = on_deadline
        self._log = ServerLog()
        self._shared = Shared(
            app=cast("TypedApp", app),
            wrapped=wrap_app(cast("ASGIFramework", app), 0, "asgi"),
            config=HypercornSettings(options, self._log),
            context=ServerContext(),
            options=options,
            log=self._log,
            flusher=Flusher(),
        )
        self._open = 0
        self._closed_one = trio.Event()

    @property
    def open_connections(self) -> int:
        """How many connections are open now; never more than `max_connections`."""
        return self._open

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`, then end as gracefully as `shutdown_timeout_s` allows.

        Started once the application is and connections are accepted. After `stop` new connections
        are refused, idle ones closed, busy ones served to the end of their reply; after
        `shutdown_timeout_s` running exchanges have `farewell_s` for their last words, and what is
        left then is reset. Cancelled, it ends at once. The listening sockets are closed in any
        case. Raises what hypercorn's Lifespan does where the application refuses to start.
        """
        last_moment = trio.CancelScope()
        try:
            async with open_arrivals() as arrivals, trio.open_nursery() as outer:
                shared = self._shared = replace(self._shared, arrivals=arrivals)
                lifespan = Lifespan(shared.wrapped, shared.config, shared.state)
                outer.start_soon(lifespan.handle_lifespan)
                await lifespan.wait_for_startup()
                outer.start_soon(shared.flusher.run)
                outer.start_soon(self._keep_time)
                with last_moment:
                    async with trio.open_nursery() as clients:
                        for listener in self._sockets:
                            clients.start_soon(self._accept, listener, clients)
                        task_status.started()
                        await self.stop.wait()
                        await self._begin_stopping()
                        outer.start_soon(self._enforce_deadline, last_moment)
                with suppress(trio.ClosedResourceError):  # it left its lifespan long ago
                    await lifespan.wait_for_shutdown()
                outer.cancel_scope.cancel()
        finally:
            self._close_listeners()

    # accepting

    async def _accept(self, listener: socket.socket, clients: trio.Nursery) -> None:
        """Accept until the listening socket is closed."""
        while listener.fileno() >= 0:
            try:
                await trio.lowlevel.wait_readable(listener)
                for _ in range(await self._wait_for_room()):
                    sock, _peer = listener.accept()
                    sock.setblocking(False)  # noqa: FBT003 - the library's signature
                    self._open += 1
                    clients.start_soon(self._serve, sock)
            except (BlockingIOError, trio.ClosedResourceError):
                continue
            except OSError as error:
                if error.errno in _OUT_OF_RESOURCES:
                    self._log.accept_paused("file_descriptors")
                    await trio.sleep(_PAUSE_S)
                # anything else was that one client's, ECONNABORTED for example

    async def _serve(self, sock: socket.socket) -> None:
        try:
            await serve_connection(self._shared, sock)
        finally:
            self._open -= 1
            self._closed_one.set()
            self._closed_one = trio.Event()

    async def _wait_for_room(self) -> int:
        """How many of those who wait may come in, so that `max_connections` holds; at least one.

        Without room, the connection that has been idle for longest goes; with none that has been
        for a while, accepting pauses. The kernel keeps who comes then waiting in line, which a 503
        would not: over TLS it could not be said without the handshake, and a client whose request
        has not been read might never see it.
        """
        while self._open >= self._options.max_connections:
            if not self._evict_one():
                self._log.accept_paused("max_connections")
            with trio.move_on_after(_PAUSE_S):  # then look again: one may have become idle
                await self._closed_one.wait()
        return min(self._options.max_connections - self._open, _ACCEPTS_A_TURN)

    def _evict_one(self) -> bool:
        idle = [each for each in self._shared.connections if each.idle_since is not None]
        idlest = min(idle, key=lambda each: each.idle_since or 0.0, default=None)
        if idlest is None or idlest.idle_since is None:
            return False
        if trio.current_time() - idlest.idle_since < self._options.spare_idle_s:
            return False
        idlest.evict()
        return True

    async def _keep_time(self) -> None:
        """Close what has been idle for too long, a tenth of the bound late at the most.

        A walk now and then costs less than a deadline that moves twice with every request, and a
        date that is renewed on it less than a look at the clock for every reply.
        """
        pause_s = min(self._options.keep_alive_timeout_s / 10, _MOST_LATE_S)
        while True:
            self._shared.config.renew_date()
            await trio.sleep(pause_s)
            now = trio.current_time()
            for each in list(self._shared.connections):
                each.expire(now)

    # stopping

    async def _begin_stopping(self) -> None:
        self._on_stopping()
        self._close_listeners()
        await self._shared.context.stop()
        for connection in list(self._shared.connections):
            connection.retire()

    async def _enforce_deadline(self, last_moment: trio.CancelScope) -> None:
        await trio.sleep(self._options.shutdown_timeout_s)
        self._on_deadline()
        await trio.sleep(self._options.farewell_s)
        last_moment.cancel()

    def _close_listeners(self) -> None:
        for listener in self._sockets:
            close(listener)
