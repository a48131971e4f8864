"""What an application can take without waiting."""

from anvil_trio.server.hypercorn_names import ASGIReceiveEvent
from anvil_trio.server.inbox import Inbox


async def nothing() -> None:
    """A client that takes everything at once."""


def part(body: bytes, *, more: bool) -> ASGIReceiveEvent:
    """One part of a request."""
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_in_one_piece_can_be_taken_at_once():
    """`Inbox.take_body`: the whole body once, and then nothing."""
    inbox = Inbox("http", nothing)
    assert inbox.take_body() is None
    await inbox.put(part(b"all", more=False))
    assert inbox.take_body() == b"all"
    assert inbox.take_body() is None


async def test_a_body_in_pieces_is_left_to_receive():
    """`Inbox.take_body`: of a body that may go on, nothing is taken; nor is a disconnect."""
    inbox = Inbox("http", nothing)
    await inbox.put(part(b"half", more=True))
    assert inbox.take_body() is None
    assert await inbox.receive() == part(b"half", more=True)
    inbox.lose()
    assert inbox.take_body() is None
    assert (await inbox.receive())["type"] == "http.disconnect"
