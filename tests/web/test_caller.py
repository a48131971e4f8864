"""The caller of an exchange over ASGI, under our own server and under others."""

import pytest

from anvil_trio.web.asgi_types import Message, Scope
from anvil_trio.web.asked import Asked
from anvil_trio.web.respond import AsgiCaller
from tests.support.asgi import Side


class Direct(Side):
    """A connection that takes parts without waiting, as many bytes as it has room for."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room, self.taken = room, b""
        self.more = self.take

    def take(self, data: bytes) -> bool:
        self.taken += data
        return len(self.taken) <= self.room


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


def test_a_part_is_taken_without_waiting_where_the_server_can():
    """`say_more`: it is counted, and `is_drained` says whether all of it has been written."""
    side = Direct(room=3)
    side.sender = sent
    caller = caller_of(side)
    told = [(caller.say_more(data), caller.is_drained) for data in (b"abc", b"d")]
    assert told == [(True, True), (True, False)]
    assert (side.taken, caller.bytes_sent) == (b"abcd", 4)


@pytest.mark.parametrize("side", [None, Side(), Direct(room=9)])
def test_elsewhere_nothing_is_taken(side: Side | None):
    """Under another server, and where somebody changes what is sent on its way."""
    caller = caller_of(side)
    assert not caller.say_more(b"abc")
    assert caller.bytes_sent == 0
    assert caller.is_drained
