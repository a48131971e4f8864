"""Where an operator's intents are kept in the simulation."""

from collections.abc import Callable

import trio

from anvil_trio.intent.intents import Intents

__all__ = ["Disk"]


class Disk:
    """Saves as a thread does: a cancel comes before it begins, or not at all."""

    def __init__(self, is_failing: Callable[[], bool] = lambda: False) -> None:
        self.saved = Intents()
        self._is_failing = is_failing

    async def save(self, intents: Intents) -> bool:
        """Keep them, unless the disk fails."""
        await trio.lowlevel.checkpoint_if_cancelled()
        with trio.CancelScope(shield=True):
            await trio.sleep(0.001)
        if self._is_failing():
            return False
        self.saved = intents
        return True
