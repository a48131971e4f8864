"""Hypercorn's own settings as this server wants them."""

import sys
from email.utils import formatdate

from anvil_trio.server.hypercorn_names import Config, Logger, WorkerContext
from anvil_trio.server.log import ServerLog
from anvil_trio.server.options import ServerOptions

__all__ = ["HypercornSettings", "ServerContext"]

_ENDLESS = 10**9


class HypercornSettings(Config):
    """No access log, no log handlers of hypercorn's, no headers that name software and version.

    `reply_lines` are the server's own headers of every reply, as HTTP/1.1 says them. Their date is
    as old as the last `renew_date`.
    """

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
        self.renew_date()

    def renew_date(self) -> None:
        """To be called once a second."""
        date = formatdate(usegmt=True).encode("ascii")
        self._headers = [(b"date", date), (b"server", b"anvil")]
        self.reply_lines = b"".join(b"%b: %b\r\n" % header for header in self._headers)

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:  # noqa: ARG002
        """`date` and a fixed `server`; callers copy it."""
        return self._headers


class ServerContext(WorkerContext):
    """Hypercorn's. `is_stopping` is what its `terminated` says, for those who ask all the time."""

    def __init__(self) -> None:
        super().__init__(None)
        self.is_stopping = False

    async def stop(self) -> None:
        """From now on the server stops; idempotent."""
        self.is_stopping = True
        await self.terminated.set()


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
