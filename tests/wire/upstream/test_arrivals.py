"""What arrives on sockets, heard in the step in which it is seen."""

import errno
import os
import select
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Self

import pytest
import trio
import trio.testing

from anvil_trio.net.arrivals import Arrivals, Listener, open_arrivals
from anvil_trio.net.sockets import reset

pytestmark = pytest.mark.wire

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
async def arrivals() -> AsyncIterator[Arrivals]:
    """One at work."""
    async with open_arrivals() as opened:
        assert opened is not None
        yield opened


@pytest.fixture
def pair() -> Iterator[Callable[[], Pair]]:
    """Makes two ends of a connection; the first does not block."""
    with ExitStack() as stack:

        def make() -> Pair:
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            stack.enter_context(theirs)
            ours.setblocking(False)
            return ours, theirs

        yield make


class Ear:
    """Hears until it has heard `enough`, and does `then` with each read."""

    def __init__(self, enough: bytes = b"", then: Callable[[bytes], None] | None = None) -> None:
        self.heard: list[bytes] = []
        self.by: set[trio.lowlevel.Task] = set()
        self.is_done = False
        self._enough, self._then = enough, then

    def __call__(self, data: bytes) -> bool:
        self.by.add(trio.lowlevel.current_task())
        self.heard.append(data)
        if self._then is not None:
            self._then(data)
        return data in {self._enough, b""}

    async def listen(self, arrivals: Arrivals, sock: socket.socket) -> None:
        await self.listen_by(Listener(arrivals, sock, 100))

    async def listen_by(self, listener: Listener) -> None:
        await listener.each(self)
        self.is_done = True


async def at_rest() -> None:
    """Until nothing moves; what is on its way between two sockets has come."""
    await trio.testing.wait_all_tasks_blocked(0.01)


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


async def at_rest_then(do: Callable[[], object]) -> None:
    """The same, and then something."""
    await at_rest()
    do()


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
