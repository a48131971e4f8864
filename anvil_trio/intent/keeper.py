"""The one place that knows what the operator wants now."""

from collections.abc import Awaitable, Callable

from anvil_trio.intent.intents import Intents

__all__ = ["IntentKeeper", "Save"]

Save = Callable[[Intents], Awaitable[bool]]


class IntentKeeper:
    """The current intents; what it is told is saved first, if anywhere, and true only then.

    So a process that dies in between wakes up with what its operator ordered, and an order that
    was answered is never forgotten.
    """

    def __init__(self, intents: Intents, save: Save | None = None) -> None:
        self.current = intents
        self._save = save

    async def keep(self, intents: Intents) -> bool:
        """Make these the current ones; False, and nothing has changed, if they cannot be saved.

        A cancel takes effect before it began or not at all, and no checkpoint follows: what the
        caller tells an actor right after it belongs to the same step. Calls must not overlap.
        """
        if intents != self.current:
            if self._save is not None and not await self._save(intents):
                return False
            self.current = intents
        return True
