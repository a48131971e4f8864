"""Hypercorn's own settings as this server wants them."""

import sys
from email.utils import formatdate
from math import inf

import trio

from anvil_trio.server.hypercorn_names import Config, Logger
from anvil_trio.server.log import ServerLog
from anvil_trio.server.options import ServerOptions

__all__ = ["HypercornSettings"]

_ENDLESS = 10**9


class HypercornSettings(Config):
    """No access log, no log handlers of hypercorn's, no headers that name software and version."""

    def __init__(self, options: ServerOptions, log: ServerLog) -> None:
        super().__init__()
        self.accesslog = None
        self.errorlog = None
        self._log = _EventLogger(self, log)
        self.h11_max_incomplete_size = options.max_head_bytes
        self.h2_max_header_list_size = options.max_head_bytes
        self.h2_max_concurrent_streams = options.max_streams
        self.websocket_max_message_size = options.max_message_bytes
        self.keep_alive_max_requests = _ENDLESS
        self._headers: list[tuple[bytes, bytes]] = []
        self._headers_until = -inf

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:  # noqa: ARG002
        """`date`, made once a second, and a fixed `server`; callers copy it."""
        now = trio.current_time()
        if now >= self._headers_until:
            date = formatdate(usegmt=True).encode("ascii")
            self._headers, self._headers_until = [(b"date", date), (b"server", b"anvil")], now + 1
        return self._headers


class _EventLogger(Logger):
    """What hypercorn reports of the application's lifespan, as our event; the rest as nothing."""

    def __init__(self, config: Config, log: ServerLog) -> None:
        super().__init__(config)
        self._events = log

    async def warning(self, *_: object, **__: object) -> None:
        self._report()

    async def exception(self, *_: object, **__: object) -> None:
        self._report()

    def _report(self) -> None:
        error = sys.exc_info()[1]
        if error is not None:
            self._events.application_failed(error)
