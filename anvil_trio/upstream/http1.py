"""HTTP/1.1 as a client speaks it, without a socket: requests to bytes, bytes to replies.

llhttp does the parsing (through httptools) with none of its leniencies. What it leaves to its user
is decided here: interim heads are passed over, a size bounds whatever is not body, only `chunked`
is understood as a transfer coding, and a connection that said more than one reply is not kept.
"""

from collections.abc import Iterable

import httptools
import httpx

from anvil_trio.upstream.stream import END, Head, Received, Request

__all__ = ["MAX_HEAD_BYTES", "ReplyParser", "render_head", "render_request"]

MAX_HEAD_BYTES = 65_536

_OURS = frozenset({b"host", b"content-length", b"transfer-encoding"})
_FIRST_INTERIM, _SWITCHING, _FIRST_FINAL = 100, 101, 200
_WITHOUT_BODY = frozenset({204, 304})
_MALFORMED = "The reply is not HTTP/1.1."
_TOO_LONG = "The reply's head is too long."
_CUT = "The connection ended before the reply did."


def render_head(
    method: str, target: bytes, host: bytes, fields: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """A request's head without its framing; `host` is ours, whatever its headers say.

    Raises httpx.LocalProtocolError for a header that would break out of its line, and for the two
    methods whose replies are framed differently.
    """
    if method in {"HEAD", "CONNECT"}:
        raise httpx.LocalProtocolError("This method is not spoken here.")
    lines = [b"%s %s HTTP/1.1" % (method.encode(), target), b"host: " + host]
    lines += [b"%s: %s" % field for field in fields if field[0].lower() not in _OURS]
    head = b"\r\n".join([*lines, b""])
    if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
        raise httpx.LocalProtocolError("A header value has a line break.")
    return head


def render_request(request: Request | httpx.Request, host: bytes, body: bytes) -> bytes:
    """The bytes of one request, whose framing is ours. Raises as `render_head`."""
    if isinstance(request, Request):
        return b"%scontent-length: %d\r\n\r\n%s" % (request.head, len(body), body)
    head = render_head(request.method, request.url.raw_path, host, request.headers.raw)
    if body or request.method != "GET":
        return b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)
    return head + b"\r\n"


_DEAF = httptools.HttpResponseParser(object())


class ReplyParser:
    """The replies of one connection, one after another.

    `feed` what each read brought, then `take` until it gives None: a `Head`, all the body bytes of
    that read as one, at last `End`. What came before a fault is taken before the fault is raised.
    The methods named `on_*` are llhttp's to call.
    """

    __slots__ = (
        "_fault",
        "_head",
        "_headers",
        "_is_complete",
        "_is_head_done",
        "_is_reusable",
        "_is_until_close",
        "_overhead",
        "_parser",
        "_parts",
        "on_body",
    )

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        # Bytes of the body, framing removed: an engine's every event is a chunk of its own.
        self.on_body = self._parts.append
        self._parser = httptools.HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """A request was written: the next bytes begin its reply."""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head: Head | None = None
        self._parts.clear()
        self._overhead = 0  # bytes read since the last that were body
        self._fault: str | None = None
        self._is_head_done = self._is_complete = False
        self._is_until_close = self._is_reusable = False

    def close(self) -> None:
        """Nothing more is fed. Idempotent. llhttp calls us: both would be garbage in a cycle."""
        self._parser = _DEAF

    @property
    def is_reusable(self) -> bool:
        """Whether the reply is whole, nothing followed it, and the server keeps the connection."""
        return self._is_complete and self._is_reusable

    def take(self) -> Received | None:
        """The next thing that is known, or None while more must be fed.

        Raises httpx.RemoteProtocolError once all that came before the fault was taken.
        """
        if self._head is not None:
            head, self._head = self._head, None
            return head
        if parts := self._parts:
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            return data
        if self._is_complete:
            return END
        if self._fault is not None:
            raise httpx.RemoteProtocolError(self._fault)
        return None

    def feed(self, data: bytes) -> bool:
        """Take the bytes of one read, b"" at the connection's end; whether `take` has something."""
        if not data:
            self._end()
            return True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._is_reusable = False
            self._fault = self._fault or _MALFORMED
            return True
        if self._head is not None and self._overhead + len(data) > MAX_HEAD_BYTES:
            self._check_head(self._head)
        if self._parts or self._is_complete:
            self._overhead = 0
        else:
            self._overhead += len(data)
            if self._overhead > MAX_HEAD_BYTES:
                self._fault = self._fault or _TOO_LONG
        return bool(self._parts or self._is_complete or self._head or self._fault)

    def _end(self) -> None:
        self._is_reusable = False
        if self._is_until_close:
            self._is_complete = True
        self._fault = self._fault or _CUT

    def _check_head(self, head: Head) -> None:
        if sum(len(name) + len(value) + 4 for name, value in head.headers) > MAX_HEAD_BYTES:
            self.begin()  # nothing of this reply is wanted
            self._fault = _TOO_LONG

    def on_message_begin(self) -> None:
        """More than one reply: llhttp is told to stop."""
        if self._is_complete:
            raise httpx.RemoteProtocolError(_MALFORMED)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or one trailer, which nobody reads."""
        if not self._is_head_done:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """A head is whole: an interim one is passed over."""
        status = self._parser.get_status_code()
        headers, self._headers = self._headers, []
        codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
        if (
            self._parser.get_http_version() not in {"1.1", "1.0"}
            or codings not in ([], [b"chunked"])
            or status < _FIRST_INTERIM
            or status == _SWITCHING
        ):
            raise httpx.RemoteProtocolError(_MALFORMED)
        if status >= _FIRST_FINAL:
            self._is_head_done = True
            self._head = Head(status, tuple(headers))
            self._is_until_close = not (
                codings or b"content-length" in dict(headers) or status in _WITHOUT_BODY
            )

    def on_message_complete(self) -> None:
        """The reply is whole. Only here does llhttp still know whether the connection is kept."""
        if self._is_head_done:
            self._is_complete = True
            self._is_reusable = self._parser.should_keep_alive()
