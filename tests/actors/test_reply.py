"""The reply slot: taken or abandoned, never both."""

import outcome
import pytest
import trio
import trio.testing

from anvil_trio.actors.reply import ReplySlot


class Asker:
    """A task that waits on a slot, in a cancel scope of its own."""

    def __init__(self) -> None:
        self.slot: ReplySlot[str] = ReplySlot()
        self.scope = trio.CancelScope()
        self.got: str | None = None
        self.abandoned = 0

    def note_abandoned(self) -> None:
        self.abandoned += 1

    async def run(self) -> None:
        with self.scope:
            self.got = await self.slot.wait(self.note_abandoned)


async def test_a_reply_reaches_its_caller():
    """A filled slot wakes the one who waits, with the reply."""
    async with trio.open_nursery() as nursery:
        asker = Asker()
        nursery.start_soon(asker.run)
        await trio.testing.wait_all_tasks_blocked()
        asker.slot.fill(outcome.Value("yes"))
    assert (asker.got, asker.slot.abandoned, asker.abandoned) == ("yes", False, 0)


async def test_a_failure_reaches_its_caller():
    """An error put into the slot is raised where the reply would have been returned."""
    slot: ReplySlot[str] = ReplySlot()

    async def expect() -> None:
        with pytest.raises(KeyError):
            await slot.wait(lambda: None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(expect)
        await trio.testing.wait_all_tasks_blocked()
        slot.fill(outcome.Error(KeyError()))


async def test_once_filled_the_reply_wins_over_a_cancel():
    """A caller cancelled after its slot was filled, and before it ran, still gets the reply."""
    async with trio.open_nursery() as nursery:
        asker = Asker()
        nursery.start_soon(asker.run)
        await trio.testing.wait_all_tasks_blocked()
        asker.slot.fill(outcome.Value("yes"))
        asker.scope.cancel()
    assert (asker.got, asker.abandoned) == ("yes", 0)
    assert not asker.scope.cancelled_caught


async def test_a_cancelled_caller_abandons_in_the_same_step():
    """The abandonment is told within `cancel()` itself, once, before any other task can run."""
    async with trio.open_nursery() as nursery:
        asker = Asker()
        nursery.start_soon(asker.run)
        await trio.testing.wait_all_tasks_blocked()
        asker.scope.cancel()
        assert (asker.abandoned, asker.slot.abandoned) == (1, True)
    assert asker.got is None
    assert asker.scope.cancelled_caught
    assert asker.abandoned == 1


async def test_an_already_cancelled_caller_never_takes_a_reply():
    """Waiting in a cancelled scope abandons the slot at once."""
    asker = Asker()
    asker.scope.cancel()
    await asker.run()
    assert (asker.got, asker.abandoned) == (None, 1)


async def test_nobody_fills_a_slot_twice():
    """A second reply, or one after the caller left, is a bug."""
    async with trio.open_nursery() as nursery:
        first, second = Asker(), Asker()
        nursery.start_soon(first.run)
        nursery.start_soon(second.run)
        await trio.testing.wait_all_tasks_blocked()
        first.slot.fill(outcome.Value("yes"))
        second.scope.cancel()
        for asker in (first, second):
            with pytest.raises(AssertionError, match="filled twice"):
                asker.slot.fill(outcome.Value("again"))
