"""How listening to a socket ends: it is closed, by whomever, or never began."""

import errno
import os
from types import SimpleNamespace

import pytest
import trio

from anvil_trio.net.arrivals import Listener
from tests.wire.upstream.ears import Ear, at_rest, at_rest_then

pytestmark = pytest.mark.wire


async def test_a_socket_that_is_closed_behind_its_listener_disturbs_nobody(arrivals, pair):
    """Not even if what came for it is next in the same step."""
    (ours, theirs), (other, others) = pair(), pair()
    listener = Listener(arrivals, ours, 100)
    behind = Listener(arrivals, other, 100)
    for each, end in ((listener, theirs), (behind, others)):
        end.send(b"x")
        await Ear(enough=b"x").listen_by(each)
    theirs.send(b"one")
    others.send(b"never heard")
    await Ear(enough=b"one", then=lambda _: other.close()).listen_by(listener)
    theirs.send(b"two")
    await Ear(enough=b"two").listen_by(listener)


async def test_a_socket_that_is_closed_is_forgotten(arrivals, pair):
    """However its last wait ended; the next that has its number is another."""
    for _ in range(3):
        ours, theirs = pair()
        listener = Listener(arrivals, ours, 100)
        with trio.move_on_after(0):
            await Ear().listen_by(listener)
        theirs.send(b"x")
        await Ear(enough=b"x").listen_by(listener)
        for _ in range(2):
            listener.close()
        with pytest.raises(trio.ClosedResourceError):
            await Ear().listen_by(listener)
        ours.close()
        theirs.close()
    assert arrivals._watched == {}


async def test_who_listens_to_a_socket_that_is_closed_is_told(arrivals, pair, nursery):
    """In the step in which that is done."""
    ours, _ = pair()
    listener, ear = Listener(arrivals, ours, 100), Ear()
    nursery.start_soon(at_rest_then, listener.close)
    with pytest.raises(trio.ClosedResourceError):
        await ear.listen_by(listener)
    assert ear.heard == []


@pytest.mark.parametrize("enough", [b"x", b"no"])
async def test_what_is_heard_may_close_the_connection(arrivals, pair, enough):
    """As where a write finds that it is broken; enough or not, who listens is told that."""
    (ours, theirs), (other, others) = pair(), pair()
    listener = Listener(arrivals, ours, 100)
    ear = Ear(enough, then=lambda _: listener.close())
    theirs.send(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await ear.listen_by(listener)
    assert ear.heard == [b"x"]
    others.send(b"y")
    await Ear(enough=b"y").listen(arrivals, other)


async def test_a_number_that_is_used_again_in_the_same_step_is_anothers(arrivals, pair, nursery):
    """What came to the socket that had it before is not heard by the one that has it now."""
    ends = [pair(), pair()]
    new, newer = pair()
    ears: list[Ear] = []
    listeners = [Listener(arrivals, ours, 100) for ours, _ in ends]
    told = Ear(enough=b"new")

    def replace_the_other(_: bytes) -> None:
        for (ours, _theirs), ear, listener in zip(ends, ears, listeners, strict=True):
            if not ear.heard:
                listener.close()
                os.dup2(new.fileno(), ours.fileno())  # closes what had it
                nursery.start_soon(told.listen, arrivals, ours)

    ears += [Ear(then=replace_the_other) for _ in ends]
    with pytest.RaisesGroup(trio.ClosedResourceError):
        async with trio.open_nursery() as both:
            for ear, listener in zip(ears, listeners, strict=True):
                both.start_soon(ear.listen_by, listener)
            await at_rest()
            for _, theirs in ends:
                theirs.send(b"old")
    newer.send(b"new")
    await at_rest()
    assert sorted(ear.heard for ear in ears) == [[], [b"old"]]
    assert told.heard == [b"new"]


async def test_a_socket_that_the_kernel_does_not_watch_leaves_nothing_behind(
    arrivals, pair, monkeypatch
):
    """As where the system watches no more of them: whoever wanted to listen is told."""

    def register(*_: object) -> None:
        raise OSError(errno.ENOSPC, "")

    ours, _ = pair()
    with monkeypatch.context() as patch:
        patch.setattr(arrivals, "_epoll", SimpleNamespace(closed=False, register=register))
        with pytest.raises(OSError, match="28"):
            await Ear().listen(arrivals, ours)
    assert arrivals._watched == {}


async def test_a_second_listener_is_a_bug(arrivals, pair, nursery):
    """And not the silent end of the first."""
    ours, theirs = pair()
    listener, ear = Listener(arrivals, ours, 100), Ear(enough=b"x")
    nursery.start_soon(ear.listen_by, listener)
    await at_rest()
    with pytest.raises(AssertionError, match="one task at a time"):
        await Ear().listen_by(listener)
    theirs.send(b"x")
    await at_rest()
    assert ear.is_done
