"""Requests to bytes and bytes to replies, without a socket."""

import httpx
import pytest

from anvil_trio.upstream.http1 import MAX_HEAD_BYTES, ReplyParser, render_request
from anvil_trio.upstream.stream import END, End, Head, Received
from tests.support.garbage import counted_garbage
from tests.unit.upstream.captured import CAPTURES, captured

OK = b"HTTP/1.1 200 OK\r\n"


def taken(parser: ReplyParser) -> list[Received]:
    """Everything that can be taken now, up to the end."""
    items: list[Received] = []
    while (item := parser.take()) is not None:
        items.append(item)
        if isinstance(item, End):
            break
    return items


def parsed(*reads: bytes, ended: bool = False) -> tuple[Head | None, bytes, bool]:
    """Head, whole body, and whether the end was reached."""
    parser = ReplyParser()
    items = []
    for read in reads:
        parser.feed(read)
        items += taken(parser)
    if ended and END not in items:
        parser.feed(b"")
        items += taken(parser)
    head = next((item for item in items if isinstance(item, Head)), None)
    return head, b"".join(item for item in items if isinstance(item, bytes)), END in items


def reusable_after(*reads: bytes) -> bool:
    """Whether the connection could carry another request."""
    parser = ReplyParser()
    for read in reads:
        parser.feed(read)
        taken(parser)
    return parser.is_reusable


@pytest.mark.parametrize("name", CAPTURES)
def test_any_split_of_a_captured_reply_gives_the_same_reply(name):
    """Where a read happens to end changes neither head nor body nor end."""
    raw = captured(name)
    whole = parsed(raw)
    assert whole[0] is not None
    assert whole[2]
    for at in range(1, len(raw)):
        assert parsed(raw[:at], raw[at:]) == whole
    assert parsed(*(bytes([byte]) for byte in raw)) == whole


def test_one_read_is_one_piece():
    """However many chunks one read brings, their bytes are handed on as one."""
    parser = ReplyParser()
    parser.feed(OK + b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n")
    assert taken(parser) == [Head(200, ((b"transfer-encoding", b"chunked"),)), b"abcd", END]


def test_header_names_come_in_lower_case_and_values_as_they_are():
    """A head can be searched by one spelling."""
    head, _, _ = parsed(OK + b"X-Thing: Value\r\nContent-Length: 0\r\n\r\n")
    assert head is not None
    assert head.header(b"x-thing") == b"Value"
    assert head.header(b"absent") is None


@pytest.mark.parametrize(
    "interim", [b"100 Continue\r\n", b"102 Processing\r\n", b"103 Hints\r\nlink: x\r\n"]
)
def test_interim_heads_are_passed_over(interim):
    """Only the final head is a head, and no header of an interim one is kept."""
    head, body, is_ended = parsed(
        b"HTTP/1.1 " + interim + b"\r\n" + OK + b"content-length: 2\r\n\r\nok"
    )
    assert (head, body, is_ended) == (Head(200, ((b"content-length", b"2"),)), b"ok", True)


def test_a_reply_without_a_length_ends_with_its_connection():
    """A body framed by neither length nor chunks is whole when the connection ends well."""
    reply = OK + b"content-type: text/plain\r\n\r\nabc"
    assert parsed(reply)[1:] == (b"abc", False)
    assert parsed(reply, ended=True)[1:] == (b"abc", True)
    assert not reusable_after(reply)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_some_statuses_have_no_body(status):
    """A 204 or 304 is whole with its head."""
    assert parsed(b"HTTP/1.1 " + status + b"\r\n\r\n")[1:] == (b"", True)


@pytest.mark.parametrize(
    "cut",
    [
        b"",
        b"HTTP/1.1 20",
        OK + b"content-length: 3\r\n\r\n",
        OK + b"content-length: 3\r\n\r\nab",
        OK + b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
    ],
)
def test_a_reply_that_is_cut_is_never_taken_for_whole(cut):
    """The end of the connection before the end of the reply is a protocol error."""
    with pytest.raises(httpx.RemoteProtocolError):
        parsed(cut, ended=True)


@pytest.mark.parametrize(
    "malformed",
    [
        b"hello\r\n\r\n",
        b"HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        OK + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok",
        OK + b"content-length: -2\r\n\r\nok",
        OK + b"transfer-encoding: gzip\r\n\r\nok",
        OK + b"transfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        OK + b"x: a\r\n folded\r\ncontent-length: 0\r\n\r\n",
    ],
)
def test_what_is_not_plain_http_is_refused(malformed):
    """Two framings, unknown codings, other versions and garbage are protocol errors."""
    with pytest.raises(httpx.RemoteProtocolError):
        parsed(malformed)


def test_what_came_before_a_fault_is_handed_on_first():
    """Body bytes that arrived with the bad ones are not lost."""
    parser = ReplyParser()
    parser.feed(OK + b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n")
    assert isinstance(parser.take(), Head)
    assert parser.take() == b"ab"
    with pytest.raises(httpx.RemoteProtocolError):
        parser.take()


def test_a_whole_plain_reply_leaves_the_connection_reusable():
    """Keep-alive holds unless something speaks against it."""
    assert reusable_after(OK + b"content-length: 2\r\n\r\nok")
    assert reusable_after(OK + b"transfer-encoding: chunked\r\n\r\n0\r\nx-trailer: 1\r\n\r\n")


@pytest.mark.parametrize(
    "reads",
    [
        [OK + b"content-length: 2\r\n\r\no"],
        [OK + b"connection: close\r\ncontent-length: 2\r\n\r\nok"],
        [b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
        [OK + b"content-length: 2\r\n\r\nok" + b"GARBAGE"],
        [OK + b"content-length: 2\r\n\r\nok" + OK + b"content-length: 0\r\n\r\n"],
        [OK + b"connection: close\r\ncontent-length: 2\r\n\r\nok" + b"more"],
    ],
)
def test_a_connection_is_not_kept_against_any_sign(reads):
    """An unfinished reply, a close that was announced or bytes after the end forbid reuse."""
    assert not reusable_after(*reads)


def test_bytes_after_the_end_do_not_spoil_the_reply():
    """A reply with something behind it is still whole and unchanged."""
    raw = OK + b"content-length: 2\r\n\r\nok"
    assert parsed(raw + raw) == parsed(raw)


def test_replies_follow_one_another_on_one_connection():
    """After `begin` nothing of the last reply is left."""
    parser = ReplyParser()
    parser.feed(OK + b"content-length: 2\r\nx: 1\r\n\r\nok")
    taken(parser)
    parser.begin()
    assert parser.take() is None
    assert not parser.is_reusable
    parser.feed(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n")
    assert taken(parser) == [Head(404, ((b"content-length", b"0"),)), END]


def test_a_head_may_have_64_kib_and_no_more():
    """The head's size is bounded however it is split, and exactly in one read."""
    most = MAX_HEAD_BYTES - len(b"x") - len(b"content-length0") - 8
    fits = OK + b"x: " + b"v" * most + b"\r\ncontent-length: 0\r\n\r\n"
    half = len(fits) // 2
    assert parsed(fits[:half], fits[half:])[2]
    long = fits.replace(b"x: ", b"x: v")
    with pytest.raises(httpx.RemoteProtocolError):
        parsed(long[:half], long[half:])
    with pytest.raises(httpx.RemoteProtocolError):
        parsed(*[OK + b"x: ", *[b"v" * 1000] * 66])


@pytest.mark.parametrize(
    "noise",
    [b"x-trailer: " + b"v" * 900 + b"\r\n", b"v" * 1000, b"HTTP/1.1 100 Continue\r\n\r\n" * 40],
)
def test_framing_without_content_is_bounded_too(noise):
    """Endless trailers, chunk extensions or interim heads end in a protocol error."""
    start = {
        b"x": OK + b"transfer-encoding: chunked\r\n\r\n0\r\n",
        b"v": OK + b"transfer-encoding: chunked\r\n\r\n2;",
        b"H": b"",
    }[noise[:1]]
    with pytest.raises(httpx.RemoteProtocolError):
        parsed(start, *[noise] * 80)


def request(method: str = "POST", **headers: str) -> httpx.Request:
    """A request as the client builds it."""
    return httpx.Request(
        method, "http://engine.test/v1/x?q=1", headers=headers, stream=httpx.ByteStream(b"")
    )


def test_a_request_is_one_block_with_our_own_framing():
    """Host and length are ours, whatever headers the request object has."""
    made = render_request(
        request(**{"Content-Length": "9", "Transfer-Encoding": "chunked", "Host": "x", "a": "b"}),
        b"engine.test:1",
        b"{}",
    )
    assert made == (
        b"POST /v1/x?q=1 HTTP/1.1\r\nhost: engine.test:1\r\na: b\r\ncontent-length: 2\r\n\r\n{}"
    )


def test_a_get_without_a_body_has_no_length():
    """A probe carries no framing header; an empty POST says that it is empty."""
    assert b"content-length" not in render_request(request("GET"), b"h", b"")
    assert b"content-length: 0" in render_request(request("POST"), b"h", b"")


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "a\rb"])
def test_a_header_cannot_break_out_of_its_line(value):
    """A key with a line break in it ends in an error instead of a second header."""
    with pytest.raises(httpx.LocalProtocolError):
        render_request(request(a=value), b"h", b"")


@pytest.mark.parametrize("method", ["HEAD", "CONNECT"])
def test_methods_with_other_framing_are_not_spoken(method):
    """A method whose reply the parser would misread is refused."""
    with pytest.raises(httpx.LocalProtocolError):
        render_request(request(method), b"h", b"")


def test_a_parser_that_was_closed_is_freed_at_once():
    """`ReplyParser.close`: twice, in the middle of a reply: llhttp knows it no more."""
    with counted_garbage() as garbage:
        parser = ReplyParser()
        parser.feed(OK + b"content-length: 9\r\n\r\nhalf")
        parser.close()
        parser.close()
        del parser
    assert not garbage
