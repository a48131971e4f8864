"""Requests and replies as bytes on a connection: what a client that costs little needs. Pure."""

import json
from collections.abc import Mapping
from urllib.parse import urlsplit

import httptools

from benchmarks.flow import MARK

__all__ = ["FAULTS", "Reply", "StreamReader", "count_tokens", "render_request"]

FAULTS = (httptools.HttpParserError, httptools.HttpParserUpgrade)
"""What `feed` raises when the bytes are no reply."""

_OK = 200
_KEPT_BYTES = 64  # more than a mark or the end of a stream is long


def render_request(url: str, path: str, key: str | None, asked: Mapping[str, object]) -> bytes:
    """One POST to `path` below `url`, on a connection that is kept."""
    where, body = urlsplit(url), json.dumps(asked).encode()
    head = [
        f"POST {where.path.rstrip('/')}{path} HTTP/1.1",
        f"host: {where.netloc}",
        *([f"authorization: Bearer {key}"] if key else []),
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def count_tokens(body: bytes) -> int | None:
    """The events of a whole Chat stream but the last one; None if it does not end as it must."""
    lines = [line for line in body.splitlines() if line.startswith(b"data:")]
    if not lines or lines[-1].removeprefix(b"data:").strip() != b"[DONE]":
        return None
    return len(lines) - 1


class Reply:
    """One reply, however its bytes are split: its status, when it is over, whether it keeps."""

    def __init__(self) -> None:
        self.status = 0
        self.is_over = False
        self.keeps_connection = False
        self._is_bounded = False
        self._came: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> bytes:
        """Take what was read; the part of the body in it. Raises one of `FAULTS`."""
        self._came.clear()
        self._parser.feed_data(data)
        return b"".join(self._came)

    def end(self) -> bool:
        """The connection has ended: whether that ends the reply, which has no bound of its own."""
        self.is_over = bool(self.status) and not self._is_bounded
        return self.is_over

    def on_header(self, name: bytes, _value: bytes) -> None:
        """Called by the parser."""
        self._is_bounded |= name.lower() in {b"content-length", b"transfer-encoding"}

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        """Called by the parser."""
        self._came.append(data)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self.is_over = True
        self.keeps_connection = self._parser.should_keep_alive()


class StreamReader:
    """Counts the timed events of one stream, however its bytes are split.

    `is_over` once its last chunk came, or its status was not 200; then `is_good` says whether it
    had its own last event and exactly `expected` timed ones before it. Keeps only a few bytes.
    """

    def __init__(self, expected: int) -> None:
        self.events = 0
        self._reply = Reply()
        self._expected = expected
        self._rest = b""
        self._is_done = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be read."""
        return self._reply.is_over or self._reply.status not in {0, _OK}

    @property
    def is_good(self) -> bool:
        """Whether the stream came as it must."""
        return self.fault is None

    @property
    def fault(self) -> str | None:
        """What is wrong with what came so far, in a few fixed words; None if nothing is."""
        if self._reply.status not in {0, _OK}:
            return f"status {self._reply.status}"
        if not self._reply.is_over:
            return "broke off"
        if not self._is_done:
            return "no last event"
        return None if self.events == self._expected else "events too few or too many"

    def feed(self, data: bytes) -> list[float]:
        """Take what was read; when each of its events was written, in seconds. Raises `FAULTS`."""
        body = self._rest + self._reply.feed(data)
        end, marks = 0, []
        for found in MARK.finditer(body):
            marks.append(float(found[1]))
            end = found.end()
        self.events += len(marks)
        self._rest = body[max(end, len(body) - _KEPT_BYTES) :]
        self._is_done = self._is_done or b"data: [DONE]" in body
        return marks
