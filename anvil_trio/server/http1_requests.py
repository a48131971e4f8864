"""Bytes to requests, without a socket. Pure.

llhttp does the parsing (through httptools) with none of its leniencies. What it leaves to its user
is done here: a bound for whatever is not body, and the way round two of its habits. It stops
parsing at any request that offers to go on in another protocol, and takes the request's body for
that protocol's bytes; and it can tell only within one callback whether the connection is kept.
"""

from collections import deque
from http import HTTPStatus
from itertools import chain
from typing import NoReturn

import httptools
import msgspec

from anvil_trio.server.http1_head import Headers, RequestHead, check_head

__all__ = ["MAX_HEADERS", "Fault", "Part", "Received", "RequestParser"]

MAX_HEADERS = 128
"""Header lines of one request, its trailers included."""

_FRAMES_PER_BYTE = 8
_TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class Part(msgspec.Struct, frozen=True):
    """Some of the body. `is_last`: the request is whole; `is_kept`: another may follow it."""

    data: bytes
    is_last: bool
    is_kept: bool = True

    def __repr__(self) -> str:
        """Nothing that was asked."""
        return "Part()"


class Fault(msgspec.Struct, frozen=True):
    """What came is no request, or is not taken. Nothing follows."""

    status: int


Received = RequestHead | Part | bytes | Fault


class _Refused(Exception):  # noqa: N818 - only llhttp sees it
    """Raised in a callback to stop the parser."""


_DEAF = httptools.HttpRequestParser(object())


class RequestParser:
    """The requests of one connection, one after another.

    `feed` what one read brought, then take from `received` what is there: a `RequestHead`, then its
    body, one `Part` for each read, the last of which may be empty; or a `Fault`. After the head of
    a WebSocket handshake every further byte comes as it is. After the last request bytes are
    dropped.

    Whatever of a request is not its body, from the line ends before it to its last trailer, may
    have about `max_head_bytes`, and eight bytes of chunk framing for each byte of body. What is
    named `on_*` is llhttp's to call, for each header or piece; so those do as little as they can.
    """

    __slots__ = (
        "_body_bytes",
        "_fields",
        "_head_bytes",
        "_is_in_head",
        "_is_over",
        "_is_websocket",
        "_max_head_bytes",
        "_parser",
        "_parts",
        "_plain_head",
        "_refusal",
        "_spent_bytes",
        "_targets",
        "on_body",
        "on_url",
        "received",
    )

    def __init__(self, max_head_bytes: int) -> None:
        self._max_head_bytes = max_head_bytes
        self.received: deque[Received] = deque()
        self._targets: list[bytes] = []  # pieces of the target
        self._fields: Headers = []  # as they came, and trailers behind them
        self._parts: list[bytes] = []  # of the body, in this read
        self._head_bytes = 0
        self._spent_bytes = self._body_bytes = 0  # of the present request
        self._is_in_head = True
        self._refusal = HTTPStatus.BAD_REQUEST
        self._plain_head = b""  # of a request that offers a protocol which is not spoken here
        self._is_websocket = self._is_over = False
        self.on_url, self.on_body = self._targets.append, self._parts.append
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Take the bytes of one read."""
        while data and not self._is_over:
            if self._is_websocket:
                self.received.append(data)
                return
            self._spent_bytes += len(data)
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:  # it has stopped behind the head
                data = self._with_plain_head(data[upgrade.args[0] :])
                continue
            except httptools.HttpParserError:
                self._end_at_fault()
                return
            if self._parts:
                part = self._take_parts()
                self._body_bytes += len(part)
                self.received.append(Part(part, is_last=False))
            if self._spent_bytes:
                self._check_volume()
            return

    def close(self) -> None:
        """Nothing more is fed. Idempotent. llhttp calls us: both would be garbage in a cycle."""
        self._parser = _DEAF

    def _with_plain_head(self, rest: bytes) -> bytes:
        """What is to be parsed behind an offer: the rest, and before it the head without it."""
        if not self._plain_head:
            return rest
        self._parser = httptools.HttpRequestParser(self)
        self._fields, self._spent_bytes = [], 0
        head, self._plain_head = self._plain_head, b""
        return head + rest

    def _take_parts(self) -> bytes:
        parts = self._parts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        return data

    def _end_at_fault(self) -> None:
        if not self._is_over:  # else llhttp complains of bytes behind the last request
            self._is_over = True
            self.received.append(Fault(self._refusal))

    def _check_volume(self) -> None:
        overhead = self._spent_bytes - self._body_bytes
        if self._is_in_head:
            if overhead > self._max_head_bytes:
                self._refusal = _TOO_LARGE
                self._end_at_fault()
        elif overhead > 2 * self._max_head_bytes + _FRAMES_PER_BYTE * self._body_bytes:
            self._end_at_fault()

    # what llhttp calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or one trailer: those are counted and dropped."""
        fields = self._fields
        fields.append((name, value))
        if len(fields) > MAX_HEADERS:
            self._refuse_as_too_large()
        if not self._is_in_head:
            self._head_bytes += len(name) + len(value) + 4
            if self._head_bytes > self._max_head_bytes:
                self._refuse_as_too_large()

    def on_headers_complete(self) -> None:
        """The head is whole. llhttp would go on behind the last request of HTTP/1.0."""
        if self._is_over:
            raise _Refused
        parser, target = self._parser, b"".join(self._targets)
        self._targets.clear()
        method, version = parser.get_method(), parser.get_http_version()
        fields = self._fields
        size = len(target) + len(b"".join(chain.from_iterable(fields))) + 4 * len(fields)
        if size > self._max_head_bytes:
            self._refuse_as_too_large()
        headers = [(name.lower(), value.strip()) for name, value in fields]
        head = check_head(method, target, version, headers)
        is_stopping = parser.should_upgrade()
        if head is None or (head.is_websocket and not is_stopping):
            raise _Refused
        if is_stopping and not head.is_websocket:
            self._plain_head = _without_offer(method, target, version, headers)
            return
        self.received.append(head)
        self._head_bytes = size
        self._is_websocket = head.is_websocket
        self._is_in_head = False

    def on_message_complete(self) -> None:
        """The request is whole; only here does llhttp know whether the connection is kept."""
        if self._plain_head or self._is_websocket:
            return
        is_kept = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"
        self.received.append(Part(self._take_parts(), is_last=True, is_kept=is_kept))
        self._is_over = not is_kept
        self._is_in_head = True
        self._fields = []
        self._spent_bytes = self._body_bytes = 0

    def _refuse_as_too_large(self) -> NoReturn:
        self._refusal = _TOO_LARGE
        raise _Refused


def _without_offer(method: bytes, target: bytes, version: str, headers: Headers) -> bytes:
    """The head once more, but with no `Upgrade`: an offer may be ignored, its body may not."""
    lines = [b"%b %b HTTP/%b" % (method, target, version.encode("ascii"))]
    lines += [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join([*lines, b"", b""])
