"""What arrives on sockets, heard in the step in which it is seen."""

import select
import socket
from functools import partial
from typing import Self

import pytest
import trio

from anvil_trio.net.arrivals import Arrivals, Listener, open_arrivals
from anvil_trio.net.sockets import reset
from tests.wire.upstream.ears import Ear, at_rest, at_rest_then

pytestmark = pytest.mark.wire


async def test_each_read_is_heard_by_one_task_for_all(arrivals, pair, nursery):
    """In order, to the end, and by none of those who listen."""
    ends, ears = [pair() for _ in range(3)], [Ear() for _ in range(3)]
    for (ours, _), ear in zip(ends, ears, strict=True):
        nursery.start_soon(ear.listen, arrivals, ours)
    for data in (b"one", b"two"):
        await at_rest()
        for _, theirs in ends:
            theirs.send(data)
    await at_rest()
    assert not any(ear.is_done for ear in ears)
    for _, theirs in ends:
        theirs.close()
    await at_rest()
    assert [ear.heard for ear in ears] == [[b"one", b"two", b""]] * 3
    assert all(ear.is_done for ear in ears)
    (by,) = set.union(*(ear.by for ear in ears))
    assert by not in nursery.child_tasks


async def test_a_long_piece_is_heard_in_several_reads(arrivals, pair):
    """No read is longer than was asked for."""
    ours, theirs = pair()
    ear = Ear()
    theirs.send(bytes(250))
    theirs.close()
    await ear.listen(arrivals, ours)
    assert [len(data) for data in ear.heard] == [100, 100, 50, 0]


async def test_who_has_heard_enough_leaves_the_rest(arrivals, pair):
    """What comes later is for whoever listens next."""
    ours, theirs = pair()
    listener = Listener(arrivals, ours, 100)
    ear = Ear(enough=b"one")
    theirs.send(b"one")
    await ear.listen_by(listener)
    theirs.send(b"two")
    await at_rest()
    assert ear.heard == [b"one"]
    again = Ear(enough=b"two")
    await again.listen_by(listener)
    assert again.heard == [b"two"]


async def test_the_kernel_is_told_once_of_a_socket_that_is_always_waited_for(arrivals, pair):
    """And told to be silent once something came that nobody waited for."""
    ours, theirs = pair()
    listener = Listener(arrivals, ours, 100)
    with Told(arrivals) as told:
        for data in (b"one", b"two", b"three"):
            theirs.send(data)
            await Ear(enough=data).listen_by(listener)
            await at_rest()
        assert told == ["watch"]
        theirs.send(b"four")
        await at_rest()
        assert told == ["watch", "forget"]
        await Ear(enough=b"four").listen_by(listener)
        assert told == ["watch", "forget", "watch"]


async def test_what_nobody_waits_for_keeps_nobody_busy(arrivals, pair):
    """Not even an end that is there to be seen for ever."""
    ours, theirs = pair()
    listener = Listener(arrivals, ours, 100)
    theirs.send(b"one")
    await Ear(enough=b"one").listen_by(listener)
    theirs.close()
    await at_rest()  # would never come
    ear = Ear()
    await ear.listen_by(listener)
    assert ear.heard == [b""]


class Told(list[str]):
    """What the kernel is told meanwhile."""

    def __init__(self, arrivals: Arrivals) -> None:
        super().__init__()
        self._arrivals = arrivals

    def __enter__(self) -> Self:
        self._patch = pytest.MonkeyPatch()
        for name in ("watch", "forget"):
            self._patch.setattr(self._arrivals, name, partial(self._note, name))
        return self

    def __exit__(self, *exc: object) -> None:
        self._patch.undo()

    def _note(self, name: str, *args: object) -> None:
        self.append(name)
        getattr(Arrivals, name)(self._arrivals, *args)


async def test_cancelled_it_takes_nothing_more(arrivals, pair, nursery):
    """From the very step of the cancellation on; the bytes are still there."""
    ours, theirs = pair()
    ear = Ear()
    with trio.CancelScope() as scope:
        nursery.start_soon(at_rest_then, lambda: (theirs.send(b"late"), scope.cancel()))
        await ear.listen(arrivals, ours)
    await at_rest()
    assert scope.cancelled_caught
    assert ear.heard == []
    assert ours.recv(9) == b"late"


async def test_what_is_heard_may_cancel_who_listens(arrivals, pair):
    """As where a write finds that the caller is gone; nobody else is disturbed."""
    (ours, theirs), (other, others) = pair(), pair()
    with trio.CancelScope() as scope:
        ear = Ear(enough=b"last", then=lambda _: scope.cancel())
        theirs.send(b"last")
        await ear.listen(arrivals, ours)
    assert scope.cancelled_caught
    assert not ear.is_done
    others.send(b"x")
    await Ear(enough=b"x").listen(arrivals, other)


async def test_who_is_cancelled_in_the_same_step_hears_nothing(arrivals, pair, nursery):
    """Both have something to read; the first that hears cancels both."""
    ends = [pair(), pair()]
    ears: list[Ear] = []
    with trio.CancelScope() as scope:
        ears += [Ear(then=lambda _: scope.cancel()) for _ in ends]
        async with trio.open_nursery() as both:
            for (ours, _), ear in zip(ends, ears, strict=True):
                both.start_soon(ear.listen, arrivals, ours)
            await at_rest()
            for _, theirs in ends:
                theirs.send(b"x")
    await at_rest()
    assert scope.cancelled_caught
    assert sorted(ear.heard for ear in ears) == [[], [b"x"]]


async def test_a_false_alarm_is_none(arrivals, pair, nursery):
    """Bytes that somebody else has taken in the same step."""
    ends = [pair(), pair()]

    def take_all(_: bytes) -> None:
        for ours, _ in ends:
            try:
                ours.recv(9)
            except BlockingIOError:
                continue

    ears = [Ear(then=take_all) for _ in ends]
    for (ours, _), ear in zip(ends, ears, strict=True):
        nursery.start_soon(ear.listen, arrivals, ours)
    await at_rest()
    for _, theirs in ends:
        theirs.send(b"x")
    await at_rest()
    assert sorted(ear.heard for ear in ears) == [[], [b"x"]]
    for _, theirs in ends:
        theirs.close()
    await at_rest()
    assert sorted(ear.heard for ear in ears) == [[b""], [b"x", b""]]


async def test_what_hearing_raises_is_the_listeners(arrivals, pair, nursery):
    """It is raised where it was asked for, and whoever else listens goes on."""
    (ours, theirs), (other, others) = pair(), pair()
    ear = Ear()
    nursery.start_soon(ear.listen, arrivals, other)

    def fail(_: bytes) -> None:
        raise ZeroDivisionError

    theirs.send(b"x")
    with pytest.raises(ZeroDivisionError):
        await Ear(then=fail).listen(arrivals, ours)
    others.send(b"y")
    others.close()
    await at_rest()
    assert ear.heard == [b"y", b""]


async def test_a_broken_connection_is_an_error(arrivals, nursery):
    """A reset is raised, as a read would."""
    with socket.socket() as listener, socket.socket() as ours:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        ours.connect(listener.getsockname())
        theirs, _ = listener.accept()
        ours.setblocking(False)
        nursery.start_soon(at_rest_then, partial(reset, theirs))
        with pytest.raises(ConnectionResetError):
            await Ear().listen(arrivals, ours)


async def test_who_still_listens_when_it_ends_can_be_cancelled(pair):
    """As where a server ends the application before its last requests."""
    ours, theirs = pair()
    ear = Ear()
    arrivals = Arrivals()
    async with trio.open_nursery() as listening:
        listening.start_soon(ear.listen, arrivals, ours)
        with trio.move_on_after(0.02):
            await arrivals.run()
        theirs.send(b"late")
        await at_rest()
        listening.cancel_scope.cancel()
    assert (ear.heard, ear.is_done) == ([], False)


async def test_where_the_system_has_none_there_is_none(monkeypatch):
    """Each task then waits for its own socket."""
    monkeypatch.delattr(select, "epoll")
    async with open_arrivals() as opened:
        assert opened is None
