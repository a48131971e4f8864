import pytest
import trio
import trio.testing

from anvil_trio.actors.bus import Bus, Subscription


async def take(feed, count):
    """The next `count` events of a feed."""
    return [await feed.receive() for _ in range(count)]


async def test_events_come_in_order_to_every_subscriber():
    """Each subscription sees every event, oldest first."""
    bus = Bus[int]()
    with bus.subscribe(3) as one, bus.subscribe(3) as other:
        for number in range(3):
            bus.publish(number)
        assert await take(one, 3) == await take(other, 3) == [0, 1, 2]


def test_publishing_without_a_subscriber_costs_nothing():
    """Nobody needs to watch, and no loop needs to run, for an event to be published."""
    Bus[int]().publish(1)


async def test_a_slow_subscriber_loses_its_oldest_and_knows_it():
    """A full subscription drops the oldest event and counts it; its neighbour loses nothing."""
    bus = Bus[int]()
    with bus.subscribe(2) as slow, bus.subscribe(5) as quick:
        for number in range(5):
            bus.publish(number)
        assert (slow.dropped, quick.dropped) == (3, 0)
        assert await take(slow, 2) == [3, 4]
        assert await take(quick, 5) == [0, 1, 2, 3, 4]


async def test_a_reader_that_waits_is_woken_by_the_next_event(autojump_clock):
    """Receiving waits for an event that has not happened yet."""
    bus = Bus[str]()
    got = []

    async def read(feed):
        got.append(await feed.receive())

    with bus.subscribe(1) as feed:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, feed)
            await trio.testing.wait_all_tasks_blocked()
            assert got == []
            bus.publish("now")
    assert got == ["now"]


async def test_a_subscription_begins_with_its_block():
    """What was published before is not replayed."""
    bus = Bus[int]()
    bus.publish(1)
    with bus.subscribe(2) as feed:
        bus.publish(2)
        assert await feed.receive() == 2


async def test_a_cancelled_reader_loses_no_event():
    """An event that a cancelled call did not return is there for the next one."""
    bus = Bus[int]()
    with bus.subscribe(1) as feed:
        bus.publish(1)
        with trio.CancelScope() as scope:
            scope.cancel()
            await feed.receive()
        assert scope.cancelled_caught
        assert await feed.receive() == 1


async def test_a_reader_cancelled_while_it_waits_leaves_the_feed_intact(autojump_clock):
    """Giving up on a quiet feed costs the feed nothing."""
    bus = Bus[int]()
    with bus.subscribe(1) as feed:
        with trio.move_on_after(5):
            await feed.receive()
        bus.publish(1)
        assert await feed.receive() == 1


async def test_two_readers_share_a_feed_without_losing_or_doubling():
    """Each event goes to one of a subscription's readers."""
    bus = Bus[int]()
    got = []

    async def read(feed):
        got.append(await feed.receive())

    with bus.subscribe(4) as feed:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, feed)
            nursery.start_soon(read, feed)
            await trio.testing.wait_all_tasks_blocked()
            bus.publish(1)
            bus.publish(2)
    assert sorted(got) == [1, 2]


async def test_a_reader_that_was_overtaken_waits_on():
    """A woken reader whose event another one took goes back to waiting."""
    bus = Bus[int]()
    got = []

    async def read(feed):
        got.append(await feed.receive())

    with bus.subscribe(2) as feed:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, feed)
            await trio.testing.wait_all_tasks_blocked()
            bus.publish(1)
            feed._unread.clear()
            await trio.testing.wait_all_tasks_blocked()
            assert got == []
            bus.publish(2)
    assert got == [2]


async def test_whoever_waits_is_told_when_the_subscription_ends():
    """The end of a subscription ends every wait on it."""
    feed = Subscription[int](1)

    async def read():
        with pytest.raises(trio.ClosedResourceError):
            await feed.receive()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        feed.close()


async def test_a_subscription_ends_with_its_block():
    """After the block nothing is kept for it, and a read says so at once."""
    bus = Bus[int]()
    with bus.subscribe(1) as feed:
        bus.publish(1)
    bus.publish(2)
    assert feed.dropped == 0
    with pytest.raises(trio.ClosedResourceError):
        await feed.receive()


async def test_receiving_is_always_a_checkpoint():
    """A reader of a busy feed still lets others run and can be cancelled."""
    bus = Bus[int]()
    with bus.subscribe(1) as feed:
        bus.publish(1)
        with trio.testing.assert_checkpoints():
            await feed.receive()


def test_a_subscription_that_could_keep_nothing_is_a_bug():
    """A size below one is refused where it is written."""
    with pytest.raises(AssertionError), Bus[int]().subscribe(0):
        pass
