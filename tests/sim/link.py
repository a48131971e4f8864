"""A link to an owner elsewhere: what it says and what it is told arrives later, in order."""

from collections import deque
from random import Random

import trio

from anvil_trio.actors.caller import Caller
from anvil_trio.actors.messages import Common, Ticket
from anvil_trio.names import OwnerId
from anvil_trio.tiers.actor import TierActor, TierHandle
from anvil_trio.tiers.messages import Granted, TierMessage, TierReply

__all__ = ["Link"]

DELAYS_S = (0, 0, 0.001, 0.3)


class Link:
    """Delays every message of one owner, so that those of different owners are reordered.

    Between processes nothing better is promised: an answer may meet a caller who has left, and a
    withdrawal may meet a grant on its way.
    """

    def __init__(self, actor: TierActor, owner: OwnerId, rng: Random) -> None:
        self._rng = rng
        self._actor = actor
        self._there: deque[TierMessage | Common] = deque()
        self._back: deque[tuple[Ticket, TierReply]] = deque()
        self._news = trio.Event()
        self._idle = trio.Event()
        self.caller: Caller[TierMessage, TierReply] = Caller(owner, self._post, Granted)
        actor.connect(owner, self)
        self.handle = TierHandle(actor.tier_id, self.caller)

    async def run(self) -> None:
        """Carry messages, one after a while, either way; until cancelled."""
        while True:
            await trio.sleep(self._rng.choice(DELAYS_S))
            if self._there and (not self._back or self._rng.random() < 0.5):
                self._actor.mailbox.post(self._there.popleft())
            elif self._back:
                self.caller.deliver(*self._back.popleft())
            else:
                await self._wait_for_news()

    async def idle(self) -> None:
        """Wait until everything said has arrived, and what was answered to it."""
        self._idle = trio.Event()
        self._news.set()
        await self._idle.wait()

    async def _wait_for_news(self) -> None:
        self._news = trio.Event()
        with trio.move_on_after(1) as silence:
            await self._news.wait()
        if silence.cancelled_caught:
            self._idle.set()
            await self._news.wait()

    def _post(self, message: TierMessage | Common) -> None:
        self._there.append(message)
        self._news.set()

    def deliver(self, ticket: Ticket, reply: TierReply) -> None:
        """An answer sets out."""
        self._back.append((ticket, reply))
        self._news.set()

    def questions(self) -> list[TierMessage | Common]:
        """What the owner asked and has not heard about."""
        return list(self.caller.questions())

    def stop(self) -> None:
        """The line is cut."""
        self.caller.stop()
