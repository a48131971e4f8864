"""What a head means."""

import pytest

from anvil_trio.server.http1_head import check_head

HOST = (b"host", b"a")
UPGRADE = [HOST, (b"connection", b"Upgrade"), (b"upgrade", b"websocket")]


def test_a_plain_head():
    """`check_head`: path decoded, raw path and query as they came, headers untouched."""
    headers = [HOST, (b"x", b"1")]
    head = check_head(b"POST", b"/a%20b?c=%20", "1.1", headers)
    assert head is not None
    assert (head.method, head.version, head.path) == ("POST", "1.1", "/a b")
    assert (head.raw_path, head.query, head.headers) == (b"/a%20b", b"c=%20", headers)
    assert not (head.expects_continue)
    assert not (head.is_websocket)


@pytest.mark.parametrize(
    ("target", "host", "path", "query"),
    [
        (b"http://b/c?d", b"b", "/c", b"d"),
        (b"https://b:1/", b"b:1", "/", b""),
        (b"HTTP://b", b"b", "/", b""),
        (b"http://b?d=/", b"b", "/", b"d=/"),
        (b"/http://b/", b"a", "/http://b/", b""),
    ],
)
def test_a_target_in_absolute_form(target, host, path, query):
    """`check_head`: its path is taken, and its host takes the place of the header's."""
    head = check_head(b"GET", target, "1.1", [(b"x", b"1"), HOST])
    assert head is not None
    assert (head.path, head.query) == (path, query)
    assert [value for name, value in head.headers if name == b"host"] == [host]
    assert (b"x", b"1") in head.headers


@pytest.mark.parametrize(
    ("headers", "version", "expects"),
    [
        ([HOST, (b"expect", b"100-Continue")], "1.1", True),
        ([HOST, (b"expect", b"else")], "1.1", False),
        ([HOST, (b"expect", b"100-continue")], "1.0", False),
        ([HOST], "1.1", False),
    ],
)
def test_who_waits_for_100_continue(headers, version, expects):
    """`check_head`: an HTTP/1.1 client that says so, in any letters."""
    head = check_head(b"POST", b"/", version, headers)
    assert head is not None
    assert head.expects_continue is expects


@pytest.mark.parametrize(
    ("method", "version", "headers", "is_one"),
    [
        (b"GET", "1.1", UPGRADE, True),
        (
            b"GET",
            "1.1",
            [HOST, (b"connection", b"a, UPGRADE ,b"), (b"upgrade", b"WebSocket")],
            True,
        ),
        (b"GET", "1.1", [*UPGRADE, (b"connection", b"upgrade-insecure")], True),
        (b"POST", "1.1", UPGRADE, False),
        (b"GET", "1.0", UPGRADE, False),
        (b"GET", "1.1", [HOST, (b"upgrade", b"websocket")], False),
        (b"GET", "1.1", [HOST, (b"connection", b"upgrade")], False),
        (b"GET", "1.1", [HOST, (b"connection", b"upgraded"), (b"upgrade", b"websocket")], False),
        (b"GET", "1.1", [*UPGRADE, (b"upgrade", b"h2c")], False),
        (b"GET", "1.1", [HOST, (b"connection", b"upgrade"), (b"upgrade", b"h2c")], False),
    ],
)
def test_what_a_websocket_handshake_is(method, version, headers, is_one):
    """`check_head`: a GET of HTTP/1.1 that offers the WebSocket protocol and nothing else."""
    head = check_head(method, b"/", version, headers)
    assert head is not None
    assert head.is_websocket is is_one


@pytest.mark.parametrize(
    "extra",
    [
        (b"content-length", b"0"),
        (b"transfer-encoding", b"chunked"),
        (b"sec-websocket-key", b"\xff"),
        (b"connection", b"\xff"),
    ],
)
def test_a_handshake_with_more_than_one_reading_is_refused(extra):
    """`check_head`: a handshake has no body, and its own headers are ASCII."""
    assert check_head(b"GET", b"/", "1.1", [*UPGRADE, extra]) is None
    assert check_head(b"GET", b"/", "1.1", [*UPGRADE, (b"x", b"\xff")]) is not None
