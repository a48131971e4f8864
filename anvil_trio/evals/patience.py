"""How long an engine keeps a connection on which nothing happens."""

import ssl
from dataclasses import dataclass

import httpx
import trio

from anvil_trio.conform.asking import Call
from anvil_trio.net.tls import client_context
from anvil_trio.upstream.connection import Connection, Endpoint
from anvil_trio.upstream.http1 import render_request
from anvil_trio.upstream.stream import End

__all__ = ["Patience", "watch_idle"]

_PORTS = {"http": 80, "https": 443}
_GLANCE_S = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    """`is_kept`: whether the answer left the connection open; `open_s`: for how long it then was.

    `is_open` says that it still was when nobody looked any longer.
    """

    is_kept: bool
    is_open: bool = False
    open_s: float = 0.0


async def watch_idle(call: Call, *, answer_s: float, watch_s: float) -> Patience | None:
    """Ask once on a new connection, then leave it idle for at most `watch_s`.

    None if there was no answer within `answer_s`. The connection is closed, however this is left.
    """
    url = httpx.URL(call.url)
    context = client_context() if url.scheme == "https" else None
    endpoint = Endpoint(url.raw_host.decode(), url.port or _PORTS[url.scheme], context)
    connection: Connection | None = None
    try:
        is_answered = False
        with trio.move_on_after(answer_s):
            connection = await endpoint.connect()
            await _ask(connection, call, url)
            is_answered = True
        if connection is None or not is_answered:
            return None
        return await _watch(connection, watch_s)
    except (OSError, ssl.SSLError, httpx.HTTPError):
        return None
    finally:
        if connection is not None:
            connection.close()


async def _ask(connection: Connection, call: Call, url: httpx.URL) -> None:
    request = httpx.Request(call.method, url, headers=list(call.headers))
    await connection.write_rest(connection.write(render_request(request, url.netloc, call.body)))
    connection.parser.begin()
    while not isinstance(item := connection.parser.take(), End):
        if item is None:
            data = await connection.read()
            connection.parser.feed(data)


async def _watch(connection: Connection, watch_s: float) -> Patience:
    if not connection.parser.is_reusable:
        return Patience(is_kept=False)
    started = trio.current_time()
    while (open_s := trio.current_time() - started) < watch_s:
        if not connection.is_quiet():
            return Patience(is_kept=True, open_s=open_s)
        await trio.sleep(_GLANCE_S)
    return Patience(is_kept=True, is_open=True, open_s=open_s)
