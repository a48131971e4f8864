"""The caller's side of one session, as the exchange sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from anvil_trio.errors import Problem
from anvil_trio.exchange.caller import Header, Watched
from anvil_trio.realtime.closes import Close

__all__ = ["Goodbye", "Message", "SessionCaller"]

Message: TypeAlias = str | bytes


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The client closed its WebSocket, with that code."""

    code: int


class SessionCaller(Watched, Protocol):
    """Who asked for a session. `web` implements it over ASGI; tests implement it over memory.

    `accept`, `send` and `close` hand over what they are given before they wait, as those of
    `exchange.caller` do.
    """

    @property
    def has_started(self) -> bool:
        """Whether the handshake was accepted: from then on no status can be told."""
        ...

    def watch_for_goodbye(self, hurry: Callable[[], None]) -> None:
        """Call `hurry` in the step in which the client is known to have closed in good order.

        What it said before still waits to be received.
        """
        ...

    async def accept(self, headers: list[Header], max_message_chars: int) -> None:
        """Accept the handshake; from now on a longer message ends the session with 1009."""
        ...

    async def refuse(self, what: Problem, headers: list[Header]) -> None:
        """Answer the handshake with an error instead."""
        ...

    async def receive(self) -> Message | Goodbye:
        """The next message, or that none will follow. Cancelled, nothing is lost."""
        ...

    async def send(self, message: Message) -> None:
        """Hand over a message; waits until it is taken, or nearly."""
        ...

    async def ping(self) -> None:
        """Send a ping, where the server can; its answer is not waited for."""
        ...

    async def close(self, close: Close) -> None:
        """Hand over a close frame, the last thing that is said."""
        ...
