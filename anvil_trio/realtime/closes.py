"""Close codes of a session's two WebSockets, and what each means to the other side.

Reasons are ours in both directions: what a client or an engine wrote there may be anything.
"""

from dataclasses import dataclass
from enum import Enum

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.outcome import Outcome

__all__ = [
    "Close",
    "Parting",
    "Side",
    "close_for",
    "code_for_engine",
    "parting_of_client",
    "parting_of_engine",
]

NORMAL, GOING_AWAY, NO_STATUS, TOO_BIG, INTERNAL = 1000, 1001, 1005, 1009, 1011
_PRIVATE = range(3000, 5000)
_SENDABLE = frozenset({1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014})
_PEACEFUL = frozenset({NORMAL, GOING_AWAY, NO_STATUS})
_REFUSALS = frozenset({1003, 1007, 1008, TOO_BIG})
"""What an engine says of a client's messages: the client must learn which it is."""


class Side(Enum):
    """Who says something, takes it, or ends the session."""

    CLIENT = "client"
    ENGINE = "engine"

    @property
    def other(self) -> "Side":
        """The other one."""
        return Side.ENGINE if self is Side.CLIENT else Side.CLIENT


@dataclass(frozen=True, slots=True)
class Close:
    """A close frame of ours: a code that may be sent, and a fixed word or nothing."""

    code: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Parting:
    """How the session ended, and by whom; None is the router.

    `close` is what the other side is told, or both; `problem` what the client is told before.
    """

    by: Side | None
    outcome: Outcome
    close: Close
    problem: Problem | None = None


def code_for_engine(code: int) -> int:
    """The code an engine is told when a client closed with `code`; no reserved one is handed on."""
    if code == NO_STATUS:
        return NORMAL
    return code if code in _SENDABLE or code in _PRIVATE else GOING_AWAY


def parting_of_client(code: int) -> Parting:
    """A client closed its WebSocket, as it may at any time; most codes say that it is content."""
    is_content = code in _PEACEFUL or code in _PRIVATE
    outcome = Outcome.SERVED if is_content else Outcome.CLIENT_DISCONNECTED
    return Parting(Side.CLIENT, outcome, Close(code_for_engine(code)))


def parting_of_engine(code: int) -> Parting:
    """An engine closed its WebSocket, or its connection broke (1006).

    Its end is a success where it says so, and where it uses a code that means something only to
    it and its clients. A refusal of messages keeps its code, all else is 1011.
    """
    if code in {NORMAL, NO_STATUS}:
        return Parting(Side.ENGINE, Outcome.SERVED, Close(NORMAL))
    if code in _PRIVATE:
        return Parting(Side.ENGINE, Outcome.SERVED, Close(code))
    what = problem(Code.UPSTREAM_ERROR)
    if code in _REFUSALS:
        return Parting(Side.ENGINE, Outcome.BACKEND_ERROR, Close(code, "upstream_refused"), what)
    return Parting(Side.ENGINE, Outcome.BACKEND_ERROR, close_for(what), what)


def close_for(what: Problem) -> Close:
    """How a session ends of which its client is told `what`."""
    code = GOING_AWAY if what.code is Code.SHUTTING_DOWN else INTERNAL
    return Close(code, what.code.value)
