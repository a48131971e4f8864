"""What a reply looks like."""

import pytest

from anvil_trio.server.http1_reply import Reply, ReplyError, render_switch

OURS = b"server: anvil\r\n"


def head_of(reply: Reply, status: int = 200, *headers: tuple[bytes, bytes], closes: bool = False):
    """The head's lines."""
    return reply.render_head(status, headers, OURS, closes=closes).split(b"\r\n")[:-2]


def test_a_reply_with_a_length():
    """`Reply`: its head says the length, its parts are as they are, and the connection is kept."""
    reply = Reply("GET", "1.1")
    flags = [(reply.has_begun, reply.is_whole)]
    assert head_of(reply, 200, (b"X-A", b" 1 "), (b"Content-Length", b"3")) == [
        b"HTTP/1.1 200 OK",
        b"x-a: 1",
        b"server: anvil",
        b"content-length: 3",
    ]
    assert reply.render_part(b"ab") + reply.render_part(b"") + reply.render_part(b"c") == b"abc"
    flags.append((reply.has_begun, reply.is_whole))
    assert reply.render_end() == b""
    flags.append((reply.has_begun, reply.is_whole))
    assert flags == [(False, False), (True, False), (True, True)]
    assert not reply.closes


def test_a_reply_without_a_length_is_chunked():
    """`Reply`: each part is one chunk, and an empty chunk is the end; an empty part is nothing."""
    reply = Reply("GET", "1.1")
    assert head_of(reply)[-1] == b"transfer-encoding: chunked"
    assert reply.render_part(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"
    assert reply.render_part(b"") == b""
    assert reply.render_end() == b"0\r\n\r\n"
    assert not reply.closes


def test_http_1_0_ends_with_the_connection():
    """`Reply`: without a length HTTP/1.0 gets bare bytes and `Connection: close`."""
    reply = Reply("GET", "1.0")
    assert head_of(reply)[-1] == b"connection: close"
    assert reply.render_part(b"abc") + reply.render_end() == b"abc"
    assert reply.closes


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 304), ("GET", 204)])
def test_replies_without_a_body(method, status):
    """`Reply`: HEAD, 204 and 304 drop what the application says, whatever its length."""
    reply = Reply(method, "1.1")
    lines = head_of(reply, status, (b"content-length", b"3"))
    assert (b"content-length: 3" in lines) is (status != 204)
    assert not any(line.startswith(b"transfer-encoding") for line in lines)
    assert reply.render_part(b"abc") + reply.render_end() == b""
    assert reply.is_whole
    assert not reply.closes


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_a_bodiless_reply_needs_no_framing(version):
    """`Reply`: a 204 without a length is complete, on HTTP/1.0 as well."""
    reply = Reply("GET", version)
    assert head_of(reply, 204) == [b"HTTP/1.1 204 No Content", b"server: anvil"]
    assert not reply.closes


def test_the_framing_is_ours():
    """`Reply`: an application's `Transfer-Encoding` and `Connection: keep-alive` are dropped."""
    reply = Reply("GET", "1.1")
    lines = head_of(reply, 200, (b"Transfer-Encoding", b"gzip"), (b"connection", b"keep-alive"))
    assert lines == [b"HTTP/1.1 200 OK", b"server: anvil", b"transfer-encoding: chunked"]


@pytest.mark.parametrize("by_header", [True, False])
def test_the_last_reply_says_so_once(by_header):
    """`Reply`: `Connection: close`, the application's or the server's, is said once."""
    reply = Reply("GET", "1.1")
    headers = [(b"connection", b"Close")] if by_header else []
    lines = head_of(reply, 200, *headers, closes=not by_header)
    assert lines.count(b"connection: close") == 1
    assert reply.closes


def test_another_connection_option_is_kept():
    """`Reply`: an application may say `Connection: upgrade` beside its `Upgrade`."""
    lines = head_of(Reply("GET", "1.1"), 426, (b"connection", b"upgrade"))
    assert b"connection: upgrade" in lines


def test_two_replies_with_the_same_names_have_their_own_values():
    """`Reply.render_head`: what is known of a head from the one before it is no value of it."""
    for value in (b"1", b"2"):
        lines = head_of(Reply("GET", "1.1"), 200, (b"content-length", value), (b"x-%d", value))
        assert lines[1:] == [b"x-%d: " + value, b"server: anvil", b"content-length: " + value]
    with pytest.raises(ReplyError):
        head_of(Reply("GET", "1.1"), 200, (b"content-length", b"1"), (b"x-%d", b"3\r\nx: y"))


def test_an_unknown_status_has_no_phrase():
    """`Reply`: the status line of a status that HTTP does not name ends in a space."""
    assert head_of(Reply("GET", "1.1"), 599)[0] == b"HTTP/1.1 599 "


@pytest.mark.parametrize(
    "header",
    [
        (b"x", b"a\r\nb: c"),
        (b"x", b"a\nb"),
        (b"x", b"a\rb"),
        (b"x", b"a\0b"),
        (b"x", b"a\x1bb"),
        (b"x", b"a\x7fb"),
        (b"x\r\ny", b"1"),
        (b"x y", b"1"),
        (b"x:", b"1"),
        (b"", b"1"),
        (b"x\xff", b"1"),
        (b":status", b"200"),
    ],
)
def test_no_header_breaks_out_of_its_line(header):
    """`Reply.render_head`: a name or value with a line break or a control character is refused."""
    reply = Reply("GET", "1.1")
    with pytest.raises(ReplyError):
        head_of(reply, 200, header)
    assert not reply.has_begun
    with pytest.raises(ReplyError):
        render_switch([header], OURS)


@pytest.mark.parametrize("value", [b"-1", b"+1", b"1,1", b"", b"x", b"\xb2"])
def test_a_length_is_a_number(value):
    """`Reply.render_head`: any other `Content-Length` is refused."""
    with pytest.raises(ReplyError):
        head_of(Reply("GET", "1.1"), 200, (b"content-length", value))


def test_a_reply_has_one_length_and_one_head():
    """`Reply.render_head`: a second length is refused, even the same; so is a second head."""
    with pytest.raises(ReplyError):
        head_of(Reply("GET", "1.1"), 200, (b"content-length", b"1"), (b"content-length", b"1"))
    reply = Reply("GET", "1.1")
    head_of(reply)
    with pytest.raises(ReplyError):
        head_of(reply)


@pytest.mark.parametrize("status", [100, 101, 199, 600, 1000])
def test_a_reply_has_a_final_status(status):
    """`Reply.render_head`: 1xx is not a reply, and HTTP ends at 599."""
    with pytest.raises(ReplyError):
        head_of(Reply("GET", "1.1"), status)


def test_a_body_keeps_to_its_length():
    """`Reply`: neither more nor less than the length that was said is taken for whole."""
    reply = Reply("GET", "1.1")
    head_of(reply, 200, (b"content-length", b"2"))
    reply.render_part(b"a")
    with pytest.raises(ReplyError):
        reply.render_end()
    assert not reply.is_whole
    with pytest.raises(ReplyError):
        reply.render_part(b"bc")


def test_a_switch_of_protocols():
    """`render_switch`: 101 with the headers as they are."""
    head = render_switch([(b"upgrade", b"WebSocket")], OURS)
    assert head == (
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nserver: anvil\r\n\r\n"
    )


def test_a_switch_has_no_length():
    """`render_switch`: what follows is no body, so a length is refused."""
    with pytest.raises(ReplyError):
        render_switch([(b"content-length", b"0")], OURS)
