"""HTTP/1.1 requests that somebody else might understand otherwise, and what becomes of each.

A body that one side reads as the next request is how requests are smuggled past a proxy. So each
row says how often the application may be called, and no request `HIDDEN` in another ever may be.
"""

from typing import NamedTuple

__all__ = ["HOSTILE", "LIMIT", "Hostile"]

LIMIT = 16_384
"""The `max_head_bytes` of these rows."""

POST = b"POST /echo HTTP/1.1\r\nhost: a\r\n"
GET = b"GET /echo HTTP/1.1\r\nhost: a\r\n"
PLAIN = POST + b"content-length: 1\r\n\r\nz"
HIDDEN = b"GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
ONE = b"1\r\nx\r\n0\r\n\r\n"


class Hostile(NamedTuple):
    """`statuses` are the replies; `bodies` the bodies of the requests that were whole.

    `is_open`: whether another request may follow on the connection.
    """

    data: bytes
    statuses: tuple[int, ...] = (400,)
    bodies: tuple[bytes, ...] = ()
    is_open: bool = False


def _taken(data: bytes, *bodies: bytes, is_open: bool = True) -> Hostile:
    return Hostile(data, (200,) * len(bodies), bodies, is_open)


def _length(value: bytes, rest: bytes = b"x") -> bytes:
    return POST + b"content-length: " + value + b"\r\n\r\n" + rest


def _coding(value: bytes, rest: bytes = ONE) -> bytes:
    return POST + b"transfer-encoding: " + value + b"\r\n\r\n" + rest


def _chunks(rest: bytes) -> bytes:
    return POST + CHUNKED + b"\r\n" + rest


def _header(line: bytes) -> bytes:
    return POST + line + b"\r\ncontent-length: 1\r\n\r\nx"


def _offer(name: bytes, *lines: bytes, body: bytes = b"", method: bytes = b"POST") -> bytes:
    head = [method + b" /echo HTTP/1.1", b"host: a", b"connection: upgrade", b"upgrade: " + name]
    return b"\r\n".join([*head, *lines, b"", body])


_KEY = b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="
_HIDDEN_LENGTH = b"content-length: %d" % len(HIDDEN)

HOSTILE: dict[str, Hostile] = {
    # what is taken, for comparison
    "plain": _taken(PLAIN, b"z"),
    "pipelined": _taken(PLAIN + PLAIN, b"z", b"z"),
    "line-ends-before": _taken(b"\r\n\r\n" + PLAIN, b"z"),
    "hidden-in-a-length": _taken(_length(b"%d" % len(HIDDEN), HIDDEN), HIDDEN),
    "hidden-in-a-chunk": _taken(_chunks(b"%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)), HIDDEN),
    "leading-zeros": _taken(_length(b"0001"), b"x"),
    "coding-in-capitals": _taken(_coding(b"Chunked"), b"x"),
    "absolute-target": _taken(PLAIN.replace(b"/echo", b"http://b:80/echo"), b"z"),
    "absolute-target-without-path": _taken(PLAIN.replace(b"/echo", b"HTTPS://b?q"), b"z"),
    "asterisk": _taken(b"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", b""),
    "http-1.0": _taken(b"GET /echo HTTP/1.0\r\n\r\n", b"", is_open=False),
    "http-1.0-kept-alive": _taken(
        b"GET /echo HTTP/1.0\r\nconnection: keep-alive\r\n\r\n" + HIDDEN, b"", is_open=False
    ),
    "behind-the-last": _taken(
        POST + b"connection: close\r\ncontent-length: 1\r\n\r\nx" + HIDDEN, b"x", is_open=False
    ),
    "trailer": _taken(_chunks(b"1\r\nx\r\n0\r\nx-sum: 1\r\n\r\n"), b"x"),
    "small-chunks": _taken(_chunks(b"1\r\nx\r\n" * 9000 + b"0\r\n\r\n"), b"x" * 9000),
    # two framings, or one that is read in two ways
    "length-and-chunked": Hostile(
        POST + b"content-length: 5\r\n" + CHUNKED + b"\r\n0\r\n\r\n" + HIDDEN
    ),
    "chunked-and-length": Hostile(POST + CHUNKED + b"content-length: 5\r\n\r\n0\r\n\r\n" + HIDDEN),
    "differing-lengths": Hostile(POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxx"),
    "equal-lengths": Hostile(POST + b"content-length: 1\r\ncontent-length: 1\r\n\r\nx"),
    "length-list": Hostile(_length(b"1, 1")),
    "length-signed": Hostile(_length(b"+1")),
    "length-negative": Hostile(_length(b"-1")),
    "length-hexadecimal": Hostile(_length(b"0x1")),
    "length-underscored": Hostile(_length(b"1_0", b"x" * 10)),
    "length-spaced": Hostile(_length(b"1 0", b"x" * 10)),
    "length-empty": Hostile(_length(b"", HIDDEN)),
    "length-overflow": Hostile(_length(b"18446744073709551617")),
    "length-unicode-digit": Hostile(_length("١".encode())),
    "coding-gzip": Hostile(_coding(b"gzip")),
    "coding-before-chunked": Hostile(_coding(b"gzip, chunked")),
    "coding-line-before-chunked": Hostile(_coding(b"gzip\r\ntransfer-encoding: chunked")),
    "coding-behind-chunked": Hostile(_coding(b"chunked, identity")),
    "coding-line-behind-chunked": Hostile(_coding(b"chunked\r\ntransfer-encoding: gzip")),
    "coding-twice": Hostile(_coding(b"chunked\r\ntransfer-encoding: chunked")),
    "coding-list-with-nothing": Hostile(_coding(b", chunked")),
    "coding-quoted": Hostile(_coding(b'"chunked"')),
    "coding-like-chunked": Hostile(_coding(b"xchunked")),
    "coding-empty": Hostile(_coding(b"")),
    "coding-vertical-tab": Hostile(_coding(b"\x0bchunked")),
    "coding-on-http-1.0": Hostile(_coding(b"chunked").replace(b"/1.1", b"/1.0")),
    # chunks
    "chunk-size-hexadecimal": Hostile(_chunks(b"0x1\r\nx\r\n0\r\n\r\n")),
    "chunk-size-signed": Hostile(_chunks(b"+1\r\nx\r\n0\r\n\r\n")),
    "chunk-size-empty": Hostile(_chunks(b"\r\nx\r\n0\r\n\r\n")),
    "chunk-size-spaced": Hostile(_chunks(b"1 \r\nx\r\n0\r\n\r\n")),
    "chunk-size-overflow": Hostile(_chunks(b"1" + b"0" * 16 + b"1\r\nx\r\n0\r\n\r\n")),
    "chunk-line-feeds": Hostile(_chunks(b"1\nx\n0\n\n")),
    "chunk-too-long": Hostile(_chunks(b"1\r\nxx\r\n0\r\n\r\n")),
    "chunk-without-its-end": Hostile(_chunks(b"1\r\nx0\r\n\r\n")),
    "chunk-extension-line-feed": Hostile(_chunks(b"1;a\nx\r\n0\r\n\r\n")),
    "chunk-extension-quoted-line-feed": Hostile(_chunks(b'1;a="\n"\r\nx\r\n0\r\n\r\n')),
    "chunk-extensions-endless": Hostile(
        _chunks((b"1;a=" + b"b" * 1024 + b"\r\nx\r\n") * 200 + b"0\r\n\r\n")
    ),
    "trailer-length": Hostile(_chunks(b"1\r\nx\r\n0\r\ncontent-length: 9\r\n\r\n")),
    "trailer-folded": Hostile(_chunks(b"1\r\nx\r\n0\r\na: b\r\n c\r\n\r\n")),
    "trailers-endless": Hostile(_chunks(b"1\r\nx\r\n0\r\n" + b"a: b\r\n" * 500), (431,)),
    # lines
    "space-before-colon": Hostile(POST + b"content-length : 1\r\n\r\nx"),
    "folded": Hostile(_header(b"x-a: 1\r\n 2")),
    "folded-first": Hostile(b"POST /echo HTTP/1.1\r\n host: a\r\n\r\n"),
    "line-feeds": Hostile(PLAIN.replace(b"\r\n", b"\n")),
    "line-feed-once": Hostile(_header(b"x-a: 1\ncontent-length: 9")),
    "carriage-return": Hostile(_header(b"x-a: 1\rcontent-length: 9")),
    "carriage-return-twice": Hostile(PLAIN.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\r\n")),
    "carriage-return-at-the-end": Hostile(GET + b"\r\r" + HIDDEN),
    "nul": Hostile(_header(b"x-a: \0")),
    "control-character": Hostile(_header(b"x-a: \x1b[0m")),
    "delete-character": Hostile(_header(b"x-a: \x7f")),
    "no-name": Hostile(_header(b": 1")),
    "no-colon": Hostile(_header(b"x-a")),
    "name-with-a-space": Hostile(_header(b"x a: 1")),
    "name-beyond-ascii": Hostile(_header(b"x\xe9: 1")),
    # the request line
    "no-host": Hostile(POST.replace(b"host: a\r\n", b"") + b"content-length: 1\r\n\r\nx"),
    "two-hosts": Hostile(_header(b"host: b")),
    "two-hosts-on-http-1.0": Hostile(b"GET / HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n"),
    "connect": Hostile(b"CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n" + HIDDEN),
    "unknown-method": Hostile(PLAIN.replace(b"POST", b"FOO")),
    "method-in-small-letters": Hostile(PLAIN.replace(b"POST", b"post")),
    "version-0.9": Hostile(b"GET /echo\r\n\r\n"),
    "version-2.0": Hostile(PLAIN.replace(b"/1.1", b"/2.0")),
    "version-3.0": Hostile(PLAIN.replace(b"/1.1", b"/3.0")),
    "version-1.10": Hostile(PLAIN.replace(b"/1.1", b"/1.10")),
    "version-in-small-letters": Hostile(PLAIN.replace(b"HTTP/", b"http/")),
    "space-in-target": Hostile(PLAIN.replace(b"/echo", b"/ec ho")),
    "target-beyond-ascii": Hostile(PLAIN.replace(b"/echo", b"/\xff")),
    "fragment-in-target": Hostile(PLAIN.replace(b"/echo", b"/echo#a")),
    "relative-target": Hostile(PLAIN.replace(b"/echo", b"echo")),
    "asterisk-for-a-post": Hostile(PLAIN.replace(b"/echo", b"*")),
    "absolute-target-with-a-user": Hostile(PLAIN.replace(b"/echo", b"http://u@b/echo")),
    "absolute-target-without-host": Hostile(PLAIN.replace(b"/echo", b"http:///echo")),
    "absolute-target-elsewhere": Hostile(PLAIN.replace(b"/echo", b"ftp://b/echo")),
    # sizes
    "long-header": Hostile(_header(b"x-a: " + b"b" * 20_000), (431,)),
    "long-target": Hostile(PLAIN.replace(b"/echo", b"/" + b"e" * 20_000), (431,)),
    "many-headers": Hostile(POST + b"x: 1\r\n" * 200 + b"\r\n", (431,)),
    "endless-head": Hostile(POST + b"x-a: " + b"b" * 300_000, (431,)),
    "endless-line-ends": Hostile(b"\r\n" * 40_000, (431,)),
    # offers of another protocol: llhttp would take the body for that protocol's bytes
    "offer-with-a-hidden-body": _taken(_offer(b"h2c", _HIDDEN_LENGTH, body=HIDDEN), HIDDEN),
    "offer-of-anything": _taken(_offer(b"x/1", _HIDDEN_LENGTH, body=HIDDEN) + PLAIN, HIDDEN, b"z"),
    "offer-with-chunks": _taken(_offer(b"h2c", b"transfer-encoding: chunked", body=ONE), b"x"),
    "offer-that-closes": _taken(
        _offer(b"h2c", b"connection: close", b"content-length: 1", body=b"x") + HIDDEN,
        b"x",
        is_open=False,
    ),
    "offers-in-a-row": _taken(_offer(b"h2c", b"content-length: 1", body=b"x") * 600, *[b"x"] * 600),
    "offer-with-two-framings": Hostile(
        _offer(
            b"h2c", b"content-length: 5", b"transfer-encoding: chunked", body=b"0\r\n\r\n" + HIDDEN
        )
    ),
    "offer-on-http-1.0": _taken(
        _offer(b"websocket", _KEY, method=b"GET").replace(b"/1.1", b"/1.0") + HIDDEN,
        b"",
        is_open=False,
    ),
    "websocket-by-post": _taken(_offer(b"websocket", _KEY, _HIDDEN_LENGTH, body=HIDDEN), HIDDEN),
    "websocket-with-a-body": Hostile(
        _offer(b"websocket", _KEY, _HIDDEN_LENGTH, body=HIDDEN, method=b"GET")
    ),
    "websocket-with-chunks": Hostile(
        _offer(b"websocket", _KEY, b"transfer-encoding: chunked", body=ONE, method=b"GET")
    ),
    "websocket-key-beyond-ascii": Hostile(
        _offer(b"websocket", b"sec-websocket-protocol: \xff", method=b"GET")
    ),
    "preface-of-http-2-late": Hostile(
        PLAIN + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (200, 400), (b"z",)
    ),
    "fault-behind-a-request": Hostile(PLAIN + b"\0", (200, 400), (b"z",)),
    # not HTTP at all
    "garbage": Hostile(b"\0\xff\xfe\r\n\r\n"),
    "tls": Hostile(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64)),
}
