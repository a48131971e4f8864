"""One reply of HTTP/1.1 as bytes. Pure.

Framing is decided here and by nothing that an application says but its `Content-Length`.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus

__all__ = ["Reply", "ReplyError", "render_switch"]

_LINES = {one.value: f"HTTP/1.1 {one.value} {one.phrase}".encode("ascii") for one in HTTPStatus}
_HEAD = re.compile(
    rb"HTTP/1\.1 [1-5]\d\d [ -~]*\r\n"
    rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [\t -~\x80-\xff]*\r\n)*\r\n"
)
_FIRST_FINAL = 200
_WITHOUT_BODY = frozenset({204, 304})
_ENDINGS = frozenset({b"close", b"keep-alive"})


class ReplyError(Exception):
    """An application's reply that HTTP/1.1 cannot say."""


class Reply:
    """The reply to one request: its head, then parts, then its end.

    `has_begun`, `is_whole`: the head, the end has been rendered. `closes`: the client was told, or
    the framing says, that nothing follows on this connection.
    """

    __slots__ = ("_is_chunked", "_lacks_body", "_left", "closes", "has_begun", "is_whole")

    def __init__(self, method: str, version: str) -> None:
        self.has_begun = self.is_whole = self.closes = False
        self._lacks_body = method == "HEAD"
        self._is_chunked = version == "1.1"
        self._left: int | None = None  # bytes that the length still promises

    def render_head(
        self,
        status: int,
        headers: Iterable[tuple[bytes, bytes]],
        ours: Iterable[tuple[bytes, bytes]],
        *,
        closes: bool,
    ) -> bytes:
        """The head; `ours` are the server's headers, `closes` whether this reply is the last.

        Raises ReplyError for a header that is none, above all one with a line break, and for a
        length that is none.
        """
        if self.has_begun or status < _FIRST_FINAL:
            raise ReplyError("A reply has one head, and a final status.")
        lines = [_LINES.get(status, b"HTTP/1.1 %d " % status)]
        length = self._take_headers(headers, lines)
        lines += [b"%b: %b" % header for header in ours]
        lines += self._framing(status, length)
        self.closes = self.closes or closes
        if self.closes:
            lines.append(b"connection: close")
        head = _joined(lines)
        self.has_begun = True
        return head

    def _take_headers(
        self, headers: Iterable[tuple[bytes, bytes]], lines: list[bytes]
    ) -> int | None:
        length = None
        for cased, value in headers:
            name = cased.lower()
            if name == b"content-length":
                if length is not None or not value.isdigit():
                    raise ReplyError("A reply has one length, a number.")
                length = int(value)
            elif name == b"connection" and value.lower() in _ENDINGS:
                self.closes = self.closes or value.lower() == b"close"
            elif name != b"transfer-encoding":  # the framing is ours
                lines.append(b"%b: %b" % (name, value.strip()))
        return length

    def _framing(self, status: int, length: int | None) -> list[bytes]:
        says_length = (
            []
            if length is None or status == HTTPStatus.NO_CONTENT
            else [b"content-length: %d" % length]
        )
        if self._lacks_body or status in _WITHOUT_BODY:
            self._lacks_body, self._is_chunked, self._left = True, False, 0
            return says_length
        if length is not None:
            self._is_chunked, self._left = False, length
            return says_length
        if self._is_chunked:
            return [b"transfer-encoding: chunked"]
        self.closes = True
        return []

    def render_part(self, data: bytes) -> bytes:
        """A part of the body, if the reply has one. Raises ReplyError beyond its length."""
        if not data or self._lacks_body:
            return b""
        if self._is_chunked:
            return b"%x\r\n%b\r\n" % (len(data), data)
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise ReplyError("More body than the reply's length.")
        return data

    def render_end(self) -> bytes:
        """The end of the body. Raises ReplyError before its length."""
        if self._left:
            raise ReplyError("Less body than the reply's length.")
        self.is_whole = True
        return b"0\r\n\r\n" if self._is_chunked else b""


def render_switch(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The head of a 101. Raises ReplyError as `Reply.render_head` does."""
    return _joined([_LINES[101], *(b"%b: %b" % header for header in headers)])


def _joined(lines: list[bytes]) -> bytes:
    head = b"\r\n".join([*lines, b"", b""])
    if head.count(b"\n") != len(lines) + 1 or _HEAD.fullmatch(head) is None:
        raise ReplyError("A header that is none, or would break out of its line.")
    return head
