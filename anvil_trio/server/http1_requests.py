"""Bytes to requests, without a socket. Pure.

llhttp does the parsing (through httptools) with none of its leniencies. What it leaves to its user
is done here: a bound for whatever is not body, and the way round two of its habits. It stops
parsing at any request that offers to go on in another protocol, and takes the request's body for
that protocol's bytes; and it can tell only within one callback whether the connection is kept.
"""

from http import HTTPStatus
from typing import NamedTuple

import httptools

from anvil_trio.server.http1_head import Headers, RequestHead, check_head

__all__ = ["MAX_HEADERS", "Fault", "Part", "Received", "RequestParser"]

MAX_HEADERS = 128
"""Header lines of one request, its trailers included."""

_FRAMES_PER_BYTE = 8
_TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class Part(NamedTuple):
    """Some of the body. `is_last`: the request is whole; `is_kept`: another may follow it."""

    data: bytes
    is_last: bool
    is_kept: bool = True


class Fault(NamedTuple):
    """What came is no request, or is not taken. Nothing follows."""

    status: int


Received = RequestHead | Part | bytes | Fault


class _Refused(Exception):  # noqa: N818 - only llhttp sees it
    """Raised in a callback to stop the parser."""


class RequestParser:
    """The requests of one connection, one after another.

    `feed` what one read brought, then `take` until it gives None: a `RequestHead`, then its body,
    one `Part` for each read, the last of which may be empty; or a `Fault`. After the head of a
    WebSocket handshake every further byte comes as it is. After the last request bytes are dropped.

    Whatever of a request is not its body, from the line ends before it to its last trailer, may
    have about `max_head_bytes`, and eight bytes of chunk framing for each byte of body. The methods
    named `on_*` are llhttp's to call.
    """

    __slots__ = (
        "_body_bytes",
        "_head_bytes",
        "_header_count",
        "_headers",
        "_is_in_head",
        "_is_over",
        "_is_websocket",
        "_items",
        "_max_head_bytes",
        "_parser",
        "_parts",
        "_plain_head",
        "_refusal",
        "_spent_bytes",
        "_target",
    )

    def __init__(self, max_head_bytes: int) -> None:
        self._max_head_bytes = max_head_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._items: list[Received] = []
        self._parts: list[bytes] = []  # of the body, in this read
        self._target = b""
        self._headers: Headers = []
        self._head_bytes = self._header_count = 0
        self._spent_bytes = self._body_bytes = 0  # of the present request
        self._is_in_head = True
        self._refusal = HTTPStatus.BAD_REQUEST
        self._plain_head = b""  # of a request that offers a protocol which is not spoken here
        self._is_websocket = self._is_over = False

    @property
    def has_more(self) -> bool:
        """Whether `take` would give something."""
        return bool(self._items)

    def take(self) -> Received | None:
        """The next thing that is known, or None while more must be fed."""
        return self._items.pop(0) if self._items else None

    def feed(self, data: bytes) -> None:
        """Take the bytes of one read."""
        while data:
            if self._is_websocket:
                self._items.append(data)
                return
            if self._is_over:
                return
            data = self._parse(data)

    def _parse(self, data: bytes) -> bytes:
        """Parse; what is returned is to be parsed, too."""
        rest = b""
        self._spent_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # it has stopped behind the head
            rest = data[upgrade.args[0] :]
            if self._plain_head:
                self._parser = httptools.HttpRequestParser(self)
                self._spent_bytes = 0
                rest, self._plain_head = self._plain_head + rest, b""
        except httptools.HttpParserError:
            self._end_at_fault()
        else:
            if self._parts:
                self._items.append(Part(self._joined_parts(), is_last=False))
            self._check_volume()
        return rest

    def _joined_parts(self) -> bytes:
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _end_at_fault(self) -> None:
        if not self._is_over:  # else llhttp complains of bytes behind the last request
            self._is_over = True
            self._items.append(Fault(self._refusal))

    def _check_volume(self) -> None:
        overhead = self._spent_bytes - self._body_bytes
        if self._is_in_head:
            if overhead > self._max_head_bytes:
                self._refusal = _TOO_LARGE
                self._end_at_fault()
        elif overhead > 2 * self._max_head_bytes + _FRAMES_PER_BYTE * self._body_bytes:
            self._end_at_fault()

    # what llhttp calls

    def on_message_begin(self) -> None:
        """A request line begins. llhttp would go on behind the last request of HTTP/1.0."""
        if self._is_over:
            raise _Refused
        self._target = b""
        self._headers = []
        self._head_bytes = self._header_count = 0

    def on_url(self, part: bytes) -> None:
        """Some more of the target."""
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or one trailer: those are counted and dropped."""
        self._head_bytes = size = self._head_bytes + len(name) + len(value) + 4
        self._header_count = count = self._header_count + 1
        if size > self._max_head_bytes or count > MAX_HEADERS:
            self._refusal = _TOO_LARGE
            raise _Refused
        if self._is_in_head:
            self._headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        """The head is whole."""
        parser = self._parser
        method, version = parser.get_method(), parser.get_http_version()
        if self._head_bytes + len(self._target) > self._max_head_bytes:
            self._refusal = _TOO_LARGE
            raise _Refused
        head = check_head(method, self._target, version, self._headers)
        is_stopping = parser.should_upgrade()
        if head is None or (head.is_websocket and not is_stopping):
            raise _Refused
        if is_stopping and not head.is_websocket:
            self._plain_head = _without_offer(method, self._target, version, self._headers)
            return
        self._items.append(head)
        self._is_websocket = head.is_websocket
        self._is_in_head = False

    def on_body(self, data: bytes) -> None:
        """Bytes of the body, framing removed."""
        self._body_bytes += len(data)
        self._parts.append(data)

    def on_message_complete(self) -> None:
        """The request is whole; only here does llhttp know whether the connection is kept."""
        if self._plain_head or self._is_websocket:
            return
        is_kept = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"
        self._items.append(Part(self._joined_parts(), is_last=True, is_kept=is_kept))
        self._is_over = not is_kept
        self._is_in_head = True
        self._spent_bytes = self._body_bytes = 0


def _without_offer(method: bytes, target: bytes, version: str, headers: Headers) -> bytes:
    """The head once more, but with no `Upgrade`: an offer may be ignored, its body may not."""
    lines = [b"%b %b HTTP/%b" % (method, target, version.encode("ascii"))]
    lines += [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join([*lines, b"", b""])
