"""A generation's life: when it is heard, and when its connections may be closed."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.exchange.lifetime import Lifetime
from anvil_trio.facts import Readiness
from anvil_trio.names import TierId

A, B = TierId("a"), TierId("b")


def test_news_count_only_while_it_is_current():
    """Kept before, the last of each tier published when it takes over, dropped once retired."""
    heard = []
    life = Lifetime()
    tell = life.heard(lambda tier_id, news: heard.append((tier_id, news)))
    tell(A, 1)
    tell(B, 2)
    tell(A, 3)
    assert heard == []
    life.take_over()
    assert heard == [(A, 3), (B, 2)]
    tell(B, 4)
    life.retire()
    tell(A, 5)
    assert heard == [(A, 3), (B, 2), (B, 4)]


def test_what_was_given_up_is_never_heard():
    """A generation that is retired before it took over publishes nothing of what it kept."""
    heard = []
    life = Lifetime()
    life.heard(lambda tier_id, news: heard.append(news))(A, 1)
    life.retire()
    with pytest.raises(AssertionError, match="once"):
        life.take_over()
    assert heard == []


def test_its_readiness_is_later_than_any_of_its_predecessor():
    """However often a generation has published, its successor's first word is newer."""
    first = Lifetime()
    second = Lifetime(first)
    old, new = Readiness(4_000_000_000, frozenset()), Readiness(0, frozenset())
    assert first.dated(old).generation < second.dated(new).generation


async def test_its_connections_stay_while_anybody_uses_them():
    """It is unused when the last request has ended and its predecessor is closed, not before."""
    first = Lifetime()
    second = Lifetime(first)
    unused = []

    async def wait(life, name):
        await life.until_unused()
        unused.append(name)

    async with trio.open_nursery() as nursery:
        with second.users:
            with first.users, first.users:
                nursery.start_soon(wait, first, "first")
                nursery.start_soon(wait, second, "second")
                await wait_all_tasks_blocked()
                assert (unused, first.users.count) == ([], 2)
            await wait_all_tasks_blocked()
            assert unused == ["first"]
            first.close()
            await wait_all_tasks_blocked()
            assert unused == ["first"]
    assert unused == ["first", "second"]


async def test_what_was_given_up_waits_for_nobody():
    """A generation that never took over is unused at once, however busy its predecessor is."""
    first = Lifetime()
    second = Lifetime(first)
    with first.users:
        second.retire()
        with trio.fail_after(1):
            await second.until_unused()


async def test_retirement_is_waited_for():
    """Whoever waits for it goes on in the step after it, however it comes."""
    life = Lifetime()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.until_retired)
        await wait_all_tasks_blocked()
        life.take_over()
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        life.retire()


async def test_whoever_waits_for_retirement_sleeps_while_requests_come_and_go():
    """The end of the last request makes no task runnable while nobody waits for just that."""
    life = Lifetime()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.until_retired)
        await wait_all_tasks_blocked()
        with life.users:
            pass
        assert trio.lowlevel.current_statistics().tasks_runnable == 0
        life.retire()
