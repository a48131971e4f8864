"""One reply of HTTP/1.1 as bytes. Pure.

Framing is decided here and by nothing that an application says but its `Content-Length`.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from http import HTTPStatus

import msgspec

__all__ = ["Reply", "ReplyError", "render_switch"]

_LINES = {one.value: f"HTTP/1.1 {one.value} {one.phrase}".encode("ascii") for one in HTTPStatus}
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_IN_VALUES = bytes([ord("\t"), *range(0x20, 0x7F), *range(0x80, 0x100)])
_SWITCHING, _NO_CONTENT = 101, 204
_FIRST_FINAL, _LAST = 200, 599
_WITHOUT_BODY = frozenset({_NO_CONTENT, 304})
_LENGTH = b"content-length"
_FRAMING = frozenset({b"connection", b"transfer-encoding"})
_ENDINGS = frozenset({b"close", b"keep-alive"})
_SHAPES = 256


class ReplyError(Exception):
    """An application's reply that HTTP/1.1 cannot say."""


class _Shape(msgspec.Struct, frozen=True):
    """What heads of one status and the same header names have in common.

    `lines` has a place for each value but the length's, which is the one at `length_at`.
    `has_framing`: an application speaks of the connection, of which it does not decide.
    """

    lines: bytes
    length_at: int | None
    has_framing: bool


@lru_cache(maxsize=_SHAPES)
def _shape_of(status: int, names: tuple[bytes, ...]) -> _Shape:
    """Looked at once and then known: programs say few of them, and each many times.

    Raises ReplyError for a name that is none, a second length, and a status beyond HTTP.
    """
    if status > _LAST:
        raise ReplyError("HTTP has no such status.")
    lines, length_at = [_LINES.get(status, b"HTTP/1.1 %d " % status)], None
    lower = [name.lower() for name in names]
    for at, name in enumerate(lower):
        if _NAME.fullmatch(name) is None:
            raise ReplyError("A header that is none, or would break out of its line.")
        if name != _LENGTH:
            lines.append(name.replace(b"%", b"%%") + b": %b")
        elif length_at is None:
            length_at = at
        else:
            raise ReplyError("A reply has one length.")
    return _Shape(b"\r\n".join([*lines, b""]), length_at, not _FRAMING.isdisjoint(lower))


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
        headers: Sequence[tuple[bytes, bytes]],
        ours: bytes,
        *,
        closes: bool,
    ) -> bytes:
        """The head; `ours` are the server's header lines, `closes` whether this reply is the last.

        Raises ReplyError for a header that is none, above all one with a line break, and for a
        length that is none.
        """
        if self.has_begun or status < _FIRST_FINAL:
            raise ReplyError("A reply has one head, and a final status.")
        names, values = _columns(headers)
        shape = _shape_of(status, names)
        if shape.has_framing:
            names, values = _columns(self._without_framing(headers))
            shape = _shape_of(status, names)
        length = None
        if shape.length_at is not None:
            said = values[shape.length_at]
            if not said.isdigit():
                raise ReplyError("A length is a number.")
            length = int(said)
            values = values[: shape.length_at] + values[shape.length_at + 1 :]
        lines = _filled(shape.lines, values)
        framing = self._framing(status, length)
        self.closes = self.closes or closes
        if self.closes:
            framing += b"connection: close\r\n"
        self.has_begun = True
        return b"%b%b%b\r\n" % (lines, ours, framing)

    def _without_framing(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The rest of the headers; of the framing it is noted whether it is to be the last."""
        kept = []
        for name, value in headers:
            said = value.lower() if name.lower() == b"connection" else b""
            if said in _ENDINGS:
                self.closes = self.closes or said == b"close"
            elif name.lower() != b"transfer-encoding":
                kept.append((name, value))
        return kept

    def _framing(self, status: int, length: int | None) -> bytes:
        says_length = b""
        if length is not None and status != _NO_CONTENT:
            says_length = b"content-length: %d\r\n" % length
        if self._lacks_body or status in _WITHOUT_BODY:
            self._lacks_body, self._is_chunked, self._left = True, False, 0
            return says_length
        if length is not None:
            self._is_chunked, self._left = False, length
            return says_length
        if self._is_chunked:
            return b"transfer-encoding: chunked\r\n"
        self.closes = True
        return b""

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


def render_switch(headers: Sequence[tuple[bytes, bytes]], ours: bytes) -> bytes:
    """The head of a 101, which has no length. Raises ReplyError as `Reply.render_head` does."""
    names, values = _columns(headers)
    shape = _shape_of(_SWITCHING, names)
    if shape.length_at is not None:
        raise ReplyError("A switch has no length.")
    return b"%b%b\r\n" % (_filled(shape.lines, values), ours)


def _columns(
    headers: Sequence[tuple[bytes, bytes]],
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The names and the values."""
    names, values = zip(*headers, strict=True) if headers else ((), ())
    return names, values


def _filled(lines: bytes, values: tuple[bytes, ...]) -> bytes:
    """The lines with these values. Raises ReplyError where one would break out of its line."""
    values = tuple(map(bytes.strip, values))
    if b"".join(values).translate(None, _IN_VALUES):
        raise ReplyError("A value that would break out of its line.")
    return lines % values
