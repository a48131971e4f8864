"""The mailbox: posting never waits, reading goes in batches and in order."""

import pytest
import trio
import trio.testing

from anvil_trio.actors.mailbox import Mailbox
from anvil_trio.actors.messages import Ticket, Withdraw
from anvil_trio.names import OwnerId


async def test_messages_are_read_in_order_and_to_the_end():
    """What was posted before the mailbox was closed is still read, in order, and then it ends."""
    mailbox: Mailbox[int] = Mailbox()
    for number in range(5):
        mailbox.post(number)
    assert mailbox.unread == 5
    mailbox.close()
    read: list[object] = []
    await mailbox.serve(read.append)
    assert read == [0, 1, 2, 3, 4]
    assert mailbox.unread == 0


async def test_everything_there_is_read_in_one_step():
    """After one wake-up the reader sleeps again only when nothing is left."""
    mailbox: Mailbox[int] = Mailbox()
    order: list[object] = []

    def act(message: object) -> None:
        order.append(message)
        if message == 0:
            mailbox.post(2)

    async def other() -> None:
        while 2 not in order:
            order.append("other")
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.serve, act)
        await trio.testing.wait_all_tasks_blocked()
        mailbox.post(0)
        mailbox.post(1)
        await other()
        mailbox.close()
    start = order.index(0)
    assert order[start : start + 3] == [0, 1, 2]


async def test_posting_to_the_closed_is_dropped():
    """Once closed, or once its reader has gone, a mailbox takes messages without a word."""
    mailbox: Mailbox[int] = Mailbox()
    mailbox.close()
    mailbox.post(1)
    read: list[object] = []
    await mailbox.serve(read.append)
    mailbox.post(2)
    assert read == []


async def test_a_withdrawal_is_known_from_its_posting_to_its_reading():
    """The hint holds a ticket exactly while its `Withdraw` is on its way."""
    mailbox: Mailbox[int] = Mailbox()
    ticket = Ticket(OwnerId(1), 1)
    mailbox.post(Withdraw(ticket))
    assert mailbox.withdrawn == {ticket}
    seen: list[bool] = []
    mailbox.close()
    await mailbox.serve(lambda _: seen.append(ticket in mailbox.withdrawn))
    assert seen == [True]
    assert mailbox.withdrawn == set()


async def test_a_message_that_raises_does_not_take_the_others_with_it():
    """What `act` raises ends this `serve`; the next goes on with the message after."""
    mailbox: Mailbox[int] = Mailbox()
    read: list[object] = []

    def act(message: object) -> None:
        if message == 1:
            raise KeyError
        read.append(message)

    for number in range(3):
        mailbox.post(number)
    mailbox.close()
    with pytest.raises(KeyError):
        await mailbox.serve(act)
    await mailbox.serve(act)
    assert read == [0, 2]
