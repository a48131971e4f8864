"""What every protocol class of a connection is made from."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from anvil_trio.server.hypercorn_names import (
    AppWrapper,
    ConnectionState,
    Event,
)
from anvil_trio.server.settings import HypercornSettings, ServerContext
from anvil_trio.server.tasks import Tasks

__all__ = ["ProtocolArgs"]


class ProtocolArgs(NamedTuple):
    """What every protocol class of hypercorn is made from, in hypercorn's order."""

    app: AppWrapper
    config: HypercornSettings
    context: ServerContext
    task_group: Tasks
    connection_state: ConnectionState
    ssl: bool
    client: tuple[str, int] | None
    server: tuple[str, int] | None
    send: Callable[[Event], Awaitable[None]]
