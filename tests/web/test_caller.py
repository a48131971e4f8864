"""The caller of an exchange over ASGI, under our own server and under others."""

from collections.abc import Iterator, Sequence

import pytest

from anvil_trio.exchange.caller import Header
from anvil_trio.web.asgi_types import Message, Scope
from anvil_trio.web.asked import Asked
from anvil_trio.web.respond import AsgiCaller
from tests.support.asgi import Side


class Direct(Side):
    """A connection that takes replies without waiting, as many bytes as it has room for."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room, self.taken, self.heads = room, b"", 0
        self.direct = self

    def answer(self, status: int, headers: Sequence[Header], body: bytes) -> bool:
        self.heads += 1
        return self.more(body)

    first = answer

    def more(self, data: bytes) -> bool:
        self.taken += data
        return len(self.taken) <= self.room

    last = more


async def nothing() -> Message:
    """No message ever comes."""
    raise AssertionError


async def sent(_: Message) -> None:
    """What the application was given to send by."""


def caller_of(side: Side | None) -> AsgiCaller:
    """A caller whose replies go by `sent`."""
    scope: Scope = {"method": "POST", "path": "/", "headers": []}
    if side is not None:
        scope["extensions"] = {"anvil.client": side}
    return AsgiCaller(Asked(scope, nothing, sent))


def said_in_parts(caller: AsgiCaller) -> Iterator[bool]:
    """A reply of four bytes, part by part; whether each was taken."""
    yield caller.say_first(200, [], b"ab")
    yield caller.say_more(b"c")
    yield caller.say_last(b"d")


def test_a_part_is_taken_without_waiting_where_the_server_can():
    """It is counted, and `is_drained` says whether all of it has been written."""
    side = Direct(room=3)
    side.sender = sent
    caller = caller_of(side)
    parts = said_in_parts(caller)
    told = [(is_taken, caller.is_drained, caller.bytes_sent) for is_taken in parts]
    assert told == [(True, True, 2), (True, True, 3), (True, False, 4)]
    assert (side.taken, side.heads, caller.has_started) == (b"abcd", 1, True)


def test_a_whole_reply_is_taken_without_waiting_where_the_server_can():
    """`say`: likewise."""
    side = Direct(room=9)
    side.sender = sent
    caller = caller_of(side)
    assert caller.say(200, [], b"whole")
    assert (side.taken, caller.has_started, caller.bytes_sent) == (b"whole", True, 5)


@pytest.mark.parametrize("side", [None, Side(), Direct(room=9)])
def test_elsewhere_nothing_is_taken(side: Side | None):
    """Under another server, and where somebody changes what is sent on its way."""
    caller = caller_of(side)
    assert not caller.say(200, [], b"abc")
    assert not caller.say_first(200, [], b"abc")
    assert not caller.say_more(b"abc")
    assert not caller.say_last(b"abc")
    assert (caller.bytes_sent, caller.has_started) == (0, False)
    assert caller.is_drained
