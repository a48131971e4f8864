"""How fast an engine is: so many requests at once, so many tokens per second each."""

from dataclasses import dataclass
from types import TracebackType

import trio

__all__ = ["Pace", "Slot", "SlotPool"]


@dataclass(frozen=True, slots=True)
class Pace:
    """The speed of one slot, in tokens per second: reading a prompt, then writing a reply."""

    tokens_per_second: float = 60.0
    prefill_tokens_per_second: float = 2_000.0

    def seconds_until(self, prompt_tokens: int, tokens: int) -> float:
        """How long after its start a slot has written `tokens` tokens."""
        return prompt_tokens / self.prefill_tokens_per_second + tokens / self.tokens_per_second


class SlotPool:
    """At most `slots` requests generate at once; the others wait in the order they came.

    Counts what an engine's operator would ask for: `running`, `waiting` and `finished`. A request
    that is cancelled, waiting or running, gives its place back in that step and is not counted as
    finished.
    """

    def __init__(self, slots: int, pace: Pace) -> None:
        self.pace = pace
        self.finished = 0
        self._places = trio.CapacityLimiter(slots)

    @property
    def running(self) -> int:
        """How many requests hold a slot."""
        return self._places.borrowed_tokens

    @property
    def waiting(self) -> int:
        """How many requests wait for a slot."""
        return self._places.statistics().tasks_waiting

    def slot(self, prompt_tokens: int) -> "Slot":
        """A place for one request; enter it to wait for its turn."""
        return Slot(self, self._places, prompt_tokens)


class Slot:
    """One request's place; entering waits for it, leaving gives it back, however it is left.

    Tokens are due at fixed moments after the start, so late wake-ups never add up: a busy machine
    delays a token, not the reply.
    """

    def __init__(self, pool: SlotPool, places: trio.CapacityLimiter, prompt_tokens: int) -> None:
        self._pool = pool
        self._places = places
        self._prompt_tokens = prompt_tokens
        self._started = 0.0

    async def __aenter__(self) -> "Slot":
        await self._places.acquire_on_behalf_of(self)
        self._started = trio.current_time()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._places.release_on_behalf_of(self)
        if exc is None:
            self._pool.finished += 1

    async def written(self, tokens: int) -> None:
        """Wait until the slot has written `tokens` tokens of the reply."""
        seconds = self._pool.pace.seconds_until(self._prompt_tokens, tokens)
        await trio.sleep_until(self._started + seconds)
