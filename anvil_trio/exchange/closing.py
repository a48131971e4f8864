"""How an exchange ended, and what its caller is still to be told."""

import msgspec

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.outcome import Outcome, outcome_of_failure, outcome_of_rejection

__all__ = ["Closing", "broken", "not_admitted", "rejected", "turned_away", "unheard"]


class Closing(msgspec.Struct, frozen=True):
    """The end of one exchange.

    `problem` becomes an HTTP error, or the dialect's terminal frame once the head is out;
    `tail` is the rest of a stream, or a whole unary body.
    """

    outcome: Outcome
    problem: Problem | None = None
    tail: bytes = b""

    def __repr__(self) -> str:
        """How it ended, and nothing that was said."""
        return f"Closing({self.outcome!r})"


def turned_away(refused: Refused) -> Closing:
    """The front door refused: this client has its budget inside, or the house is full."""
    is_client = refused.reason is RefusalReason.CLIENT_BUSY
    return rejected(problem(Code.CLIENT_CONCURRENCY_EXHAUSTED if is_client else Code.SERVER_BUSY))


def rejected(what: Problem) -> Closing:
    """A gate refused the request; nothing was reserved (R009)."""
    return Closing(outcome_of_rejection(what), what)


def broken(what: Problem) -> Closing:
    """The one attempt on the chosen member broke."""
    return Closing(outcome_of_failure(what), what)


def not_admitted(refused: Refused, exhaustion_status: int) -> Closing:
    """The tier itself refused: no other tier or host is ever asked (R008)."""
    if refused.reason is RefusalReason.TIER_FAILED:
        return Closing(Outcome.NOT_ADMITTED, problem(Code.TIER_FAILED))
    is_quiesced = refused.reason is RefusalReason.QUIESCED
    what = problem(Code.SERVICE_UNAVAILABLE, status=exhaustion_status)
    return Closing(Outcome.QUIESCED if is_quiesced else Outcome.NOT_ADMITTED, what)


def unheard(closing: Closing) -> Closing:
    """The caller left before it was told: what was left to say makes it a disconnect."""
    if closing.outcome is Outcome.SERVED and closing.tail:
        return Closing(Outcome.CLIENT_DISCONNECTED)
    return closing
