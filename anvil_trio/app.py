"""The ASGI application for the stock hypercorn command.

    ANVIL_CONFIG=router.toml hypercorn -k trio anvil_trio.app:app

The house is opened at `lifespan.startup` and closed after `lifespan.shutdown`. What our own server
gives and this one cannot is in docs/discussion/stock-hypercorn.md.
"""

import os
from collections.abc import Mapping

from anvil_trio.config.load import config_path, current_folder
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.source import ConfigSource
from anvil_trio.generations import open_app
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.web.asgi import App
from anvil_trio.web.asgi_types import Receive, Scope, Send

__all__ = ["StockApp", "app"]


class StockApp:
    """One house for as long as the server's lifespan lasts."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open and close the house in the lifespan; everything else goes to it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            assert self._app is not None, "the server must support lifespan"
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            path = config_path(self._environ.get("ANVIL_CONFIG"), self._environ, current_folder())
            source = ConfigSource(path, self._environ)
            config = source.load()
            async with open_app(config, source.resolve(config), source) as self._app:
                await send({"type": "lifespan.startup.complete"})
                await receive()
                self._app.house.drain()
        except ConfigError as error:
            lines = [problem.line for problem in error.problems]
            log_event(LogEvent.CONFIG_REFUSED, problems=lines)
            await send({"type": "lifespan.startup.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})


app = StockApp()
