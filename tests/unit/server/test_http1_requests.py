"""Bytes become requests in one way only, however they arrive."""

import pytest

from anvil_trio.server.http1_head import RequestHead
from anvil_trio.server.http1_requests import MAX_HEADERS, Fault, Part, RequestParser
from tests.support.garbage import counted_garbage
from tests.support.hostile import HOSTILE, LIMIT
from tests.unit.server.requests import parsed, splits

HANDSHAKE = (
    b"GET /feed?x=1 HTTP/1.1\r\nhost: a\r\nConnection: keep-alive, Upgrade\r\n"
    b"Upgrade: WebSocket\r\nsec-websocket-key: k\r\nsec-websocket-version: 13\r\n\r\n"
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_what_the_table_says(name):
    """`RequestParser`: requests that were whole, and the fault, are those of the table."""
    row = HOSTILE[name]
    seen = parsed([row.data], LIMIT)
    assert tuple(seen.bodies) == row.bodies
    assert seen.fault == next((one for one in row.statuses if one != 200), None)
    assert (seen.is_kept and seen.fault is None) == row.is_open


@pytest.mark.parametrize("name", HOSTILE)
def test_how_bytes_arrive_changes_nothing(name):
    """`RequestParser`: a hostile request in two pieces is the same request, wherever it is cut."""
    whole = parsed([HOSTILE[name].data], LIMIT)
    for pieces in splits(HOSTILE[name].data):
        seen = parsed(pieces, LIMIT)
        assert (seen.bodies, seen.fault, seen.is_kept) == (
            whole.bodies,
            whole.fault,
            whole.is_kept,
        ), len(pieces[0])


@pytest.mark.parametrize(
    "name", [name for name in HOSTILE if len(HOSTILE[name].data) < 2000 and HOSTILE[name].bodies]
)
def test_single_bytes_are_the_same_requests(name):
    """`RequestParser`: a request that is taken is taken byte by byte as well."""
    row = HOSTILE[name]
    seen = parsed([row.data[at : at + 1] for at in range(len(row.data))], LIMIT)
    assert tuple(seen.bodies) == row.bodies


def test_the_body_of_one_read_is_one_part():
    """`RequestParser`: chunks of one read come joined, with the end if it came too."""
    parser = RequestParser(LIMIT)
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    parser.feed(head + b"1\r\na\r\n1\r\nb\r\n")
    parser.feed(b"2\r\ncd\r\n0\r\n\r\n")
    assert isinstance(parser.received.popleft(), RequestHead)
    assert list(parser.received) == [Part(b"ab", is_last=False), Part(b"cd", is_last=True)]


def test_a_handshake_ends_the_parsing():
    """`RequestParser`: behind a WebSocket handshake every byte is handed over as it is."""
    for pieces in splits(HANDSHAKE + b"GET frames\0\xff"):
        seen = parsed([*pieces, b"more"])
        assert [head.is_websocket for head in seen.heads] == [True]
        assert seen.frames == b"GET frames\0\xffmore"
        assert (seen.bodies, seen.fault) == ([], None)


def test_a_handshake_waits_its_turn():
    """`RequestParser`: pipelined, the handshake comes behind the request before it."""
    plain = b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n"
    for pieces in splits(plain + HANDSHAKE + b"frame"):
        seen = parsed(pieces)
        assert [head.path for head in seen.heads] == ["/a", "/feed"]
        assert (seen.bodies, seen.frames) == ([b""], b"frame")


def test_an_ignored_offer_keeps_everything_else():
    """`RequestParser`: a request that offers another protocol loses its `Upgrade` line alone."""
    head = (
        b"POST http://b/p?q HTTP/1.1\r\nHost: a\r\nX-A:  1 \r\nConnection: upgrade\r\n"
        b"Upgrade: h2c\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nhi"
    )
    seen = parsed([head])
    (only,) = seen.heads
    assert (only.path, only.query, seen.bodies) == ("/p", b"q", [b"hi"])
    assert only.headers == [
        (b"host", b"b"),
        (b"x-a", b"1"),
        (b"connection", b"upgrade"),
        (b"x-a", b"2"),
        (b"content-length", b"2"),
    ]


@pytest.mark.parametrize("spare", [0, 1])
def test_the_size_of_a_head_is_bounded_to_the_byte(spare):
    """`RequestParser`: target, names, values and four bytes a line count; one too many is a 431."""
    counted = len(b"/") + len(b"host") + len(b"a") + 4 + len(b"x") + 4
    value = b"v" * (LIMIT - counted + spare)
    seen = parsed([b"GET / HTTP/1.1\r\nhost: a\r\nx: " + value + b"\r\n\r\n"], LIMIT)
    assert seen.fault == (None if spare == 0 else 431)


@pytest.mark.parametrize("spare", [0, 1])
def test_the_number_of_headers_is_bounded(spare):
    """`RequestParser`: `MAX_HEADERS` lines are taken, one more is a 431."""
    lines = b"x: 1\r\n" * (MAX_HEADERS - 1 + spare)
    seen = parsed([b"GET / HTTP/1.1\r\nhost: a\r\n" + lines + b"\r\n"])
    assert seen.fault == (None if spare == 0 else 431)


def test_a_head_that_never_ends_is_refused_before_it_is_whole():
    """`RequestParser`: an endless line is refused once more than the limit has come."""
    parser = RequestParser(LIMIT)
    parser.feed(b"GET / HTTP/1.1\r\nhost: a\r\nx: ")
    fed = 0
    while not parser.received:
        parser.feed(b"v" * 1000)
        fed += 1000
    assert list(parser.received) == [Fault(431)]
    assert fed < LIMIT + 1000


def test_chunk_framing_is_bounded_as_the_body_grows():
    """`RequestParser`: eight bytes of framing for each byte of body are taken, endless ones not."""
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    parser = RequestParser(1000)
    parser.feed(head)
    for _ in range(1000):
        parser.feed(b"2;ext=456789\r\nxx\r\n")
    assert not any(isinstance(item, Fault) for item in parser.received)
    for _ in range(40):
        parser.feed(b"1;" + b"e" * 900 + b"\r\nx\r\n")
    assert parser.received[-1] == Fault(400)


def test_every_request_starts_with_full_measure():
    """`RequestParser`: what one request used of its bounds is not charged to the next."""
    request = b"POST / HTTP/1.1\r\nhost: a\r\nx: " + b"v" * 900 + b"\r\ncontent-length: 1\r\n\r\nx"
    seen = parsed([request[:500], request[500:]] * 50, 1000)
    assert (len(seen.bodies), seen.fault) == (50, None)


def test_nothing_follows_a_fault():
    """`RequestParser.feed`: bytes behind a fault are dropped."""
    parser = RequestParser(LIMIT)
    parser.feed(b"\0")
    parser.feed(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    assert list(parser.received) == [Fault(400)]


@pytest.mark.parametrize("spare", [0, 1])
def test_trailers_count_as_their_head_does(spare):
    """`RequestParser`: head and trailers share the bound to the byte; one too many is a 431."""
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    counted = sum(map(len, (b"/", b"host", b"a", b"transfer-encoding", b"chunked", b"x"))) + 3 * 4
    trailer = b"x: " + b"v" * (LIMIT - counted + spare) + b"\r\n\r\n"
    seen = parsed([head + trailer], LIMIT)
    assert (seen.bodies, seen.fault) == (([b"x"], None) if spare == 0 else ([], 431))


def test_what_was_received_shows_nothing():
    """`RequestHead`, `Part`: what a client sent is in no text that could be logged."""
    parser = RequestParser(LIMIT)
    parser.feed(b"POST /secret HTTP/1.1\r\nhost: a\r\nx: secret\r\ncontent-length: 6\r\n\r\nsecret")
    assert "secret" not in repr(parser.received)


def test_a_parser_that_was_closed_is_freed_at_once():
    """`RequestParser.close`: twice, in the middle of a request: llhttp knows it no more."""
    with counted_garbage() as garbage:
        parser = RequestParser(1000)
        parser.feed(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf")
        parser.close()
        parser.close()
        del parser
    assert not garbage
