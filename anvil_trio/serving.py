"""Runs the router: house, generation, sockets and server, from start to graceful stop."""

import os
import ssl
from collections.abc import Callable, Mapping

from anvil_trio.config.load import check_tls_files, expand_path, resolve_secrets
from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.source import ConfigSource
from anvil_trio.generations import open_app
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.net.tls import server_context
from anvil_trio.server.accept import Server
from anvil_trio.server.collector import steady_collector
from anvil_trio.server.heap import keep_freed_memory
from anvil_trio.server.listen import listen, raise_fd_limit
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.signals import run_until_signalled

__all__ = ["run_router"]


async def run_router(
    config: RouterConfig,
    *,
    host: str,
    port: int,
    on_ready: Callable[[str, int], None],
    environ: Mapping[str, str] = os.environ,
    source: ConfigSource | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then end gracefully; a second signal ends at once.

    `source` is where another configuration may be read from while it runs; without one it keeps
    this one. `on_ready` is told the address once connections are taken. Raises ConfigError for what
    only shows at start (secrets, files) and OSError if the address cannot be bound.
    """
    secrets = resolve_secrets(config, environ)
    tls = _tls(config.server, environ)
    raise_fd_limit()
    keep_freed_memory()
    stall_s = config.server.client_stall_timeout_s
    with listen(host, port, user_timeout_s=stall_s) as listener:
        async with open_app(config, secrets, source) as app:
            server = Server(
                app,
                _options(config.server, tls),
                [listener],
                on_stopping=app.house.drain,
                on_deadline=app.house.exchanges.shut_down,
            )
            address = listener.getsockname()
            with steady_collector():
                await run_until_signalled(server, lambda: on_ready(address[0], address[1]))
    log_event(LogEvent.STOPPED)


def _options(server: ServerSettings, tls: ssl.SSLContext | None) -> ServerOptions:
    return ServerOptions(
        max_connections=server.max_connections,
        stall_timeout_s=server.client_stall_timeout_s,
        shutdown_timeout_s=server.shutdown_timeout_s,
        tls=tls,
    )


def _tls(server: ServerSettings, environ: Mapping[str, str]) -> ssl.SSLContext | None:
    if server.tls_certfile is None or server.tls_keyfile is None:
        return None
    check_tls_files(server, environ)
    try:
        return server_context(
            str(expand_path(server.tls_certfile, environ)),
            str(expand_path(server.tls_keyfile, environ)),
        )
    except (OSError, ssl.SSLError):
        message = "must name a certificate and the key that belongs to it"
        problem = ConfigProblem("server.tls_certfile", ProblemCode.FILE_UNREADABLE, message)
        raise ConfigError([problem]) from None
