"""A request's scope is read once, whatever server it comes from."""

import pytest

from anvil_trio.web.asgi_types import Message, Scope
from anvil_trio.web.asked import Asked

HEADERS = [(b"x", b"1"), (b"y", b"2"), (b"x", b"3")]


async def receive() -> Message:
    """No message ever comes."""
    raise AssertionError


async def send(_: Message) -> None:
    """What the application was given to send by."""


def asked(**more: object) -> Asked:
    """A request with these members in its scope."""
    scope: Scope = {"method": "GET", "path": "/p", "headers": HEADERS, **more}
    return Asked(scope, receive, send)


@pytest.mark.parametrize("headers", [HEADERS, tuple(HEADERS)])
def test_of_headers_that_come_twice_the_first_counts(headers):
    """`Asked.first`: the first value of each name; `headers` are all of them, in their order."""
    got = asked(headers=headers)
    assert got.first == {b"x": b"1", b"y": b"2"}
    assert got.headers == HEADERS


def test_another_server_tells_nothing_of_its_connection():
    """`Asked.server`: None without extensions, and without ours; `query` empty without one."""
    assert [asked().server, asked(extensions=None).server, asked(extensions={}).server] == [
        None
    ] * 3
    assert asked().query == b""
    assert asked(query_string=b"a=1").query == b"a=1"
