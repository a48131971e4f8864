"""One HTTP/1.1 request and its reply, between its application and its connection."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Protocol

from anvil_trio.server.asgi import Scope
from anvil_trio.server.http1_head import RequestHead
from anvil_trio.server.http1_reply import Reply, ReplyError
from anvil_trio.server.http1_requests import Part
from anvil_trio.server.hypercorn_names import ASGISendEvent
from anvil_trio.server.inbox import Inbox
from anvil_trio.server.protocol_args import ProtocolArgs
from anvil_trio.server.refusals import refusal
from anvil_trio.server.tasks import EXTENSION

__all__ = ["Exchange", "Line", "fixed_scope"]

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Line(Protocol):
    """The connection as one exchange sees it."""

    @property
    def args(self) -> ProtocolArgs:
        """What it is made from."""

    def write(self, data: bytes) -> bool:
        """Send; never waits. Whether the kernel has all of it."""
        ...

    async def drained(self) -> None:
        """Wait until the client has taken what was sent."""

    async def recycle(self) -> None:
        """The application has said its last word in this exchange."""


class Exchange:
    """Hands the parts of one request to its application, and on what that replies.

    `is_asked`: the request is whole, and `is_kept` whether its client keeps the connection.
    `is_closed`: nothing more is sent, whatever the application says; it may go on to its end.
    """

    __slots__ = (
        "_expects",
        "_inbox",
        "_line",
        "is_asked",
        "is_closed",
        "is_kept",
        "reply",
    )

    def __init__(self, line: Line, head: RequestHead) -> None:
        self.reply = Reply(head.method, head.version)
        self.is_asked = self.is_closed = False
        self.is_kept = True
        self._line = line
        self._expects = head.expects_continue
        inbox = self._inbox = Inbox("http", line.drained)
        inbox.direct = self
        if self._expects:
            inbox.wanted = self._ask_for_body

    def begin(self, fixed: Scope, head: RequestHead) -> None:
        """Start the application; `fixed` is what the scopes of its connection have in common."""
        args = self._line.args
        scope = {
            **fixed,
            "http_version": head.version,
            "method": head.method,
            "path": head.path,
            "raw_path": head.raw_path,
            "query_string": head.query,
            "headers": head.headers,
            "state": dict(args.connection_state),
            "extensions": {EXTENSION: self._inbox},
        }
        args.task_group.start_app(scope, self._inbox, self.send)

    # what the client sends

    def take(self, part: Part) -> bool:
        """Hand on a part of the request; False: before the next `has_room` is to be awaited."""
        self._expects = False
        self.is_asked, self.is_kept = part.is_last, part.is_kept
        more = not part.is_last
        return self._inbox.put_now({"type": "http.request", "body": part.data, "more_body": more})

    async def has_room(self) -> None:
        """Wait while the application has enough to read."""
        await self._inbox.has_room()

    def close(self) -> None:
        """The exchange is over: its reply is whole, its client has left, or it cannot go on."""
        self.is_closed = True
        self._inbox.close()

    @property
    def may_be_followed(self) -> bool:
        """Whether request and reply are whole and neither side closes the connection."""
        return self.is_asked and self.is_kept and self.reply.is_whole and not self.reply.closes

    async def _ask_for_body(self) -> None:
        if self._expects and not self.reply.has_begun and not self.is_closed:
            self._expects = False
            self._line.write(_CONTINUE)

    # what the application sends

    async def send(self, message: ASGISendEvent | None) -> None:
        """Take a message; None: the application has ended. Raises ReplyError."""
        if self.is_closed:
            return
        reply = self.reply
        if message is None:
            if not reply.has_begun:
                self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            await self._line.recycle()
        elif message["type"] == "http.response.start":
            self._start(int(message["status"]), message.get("headers", ()))
        elif message["type"] == "http.response.body" and reply.has_begun and not reply.is_whole:
            data = reply.render_part(bytes(message.get("body", b"")))
            is_last = not message.get("more_body", False)
            if is_last:
                data += reply.render_end()
            self._line.write(data)
            if is_last:
                await self._line.recycle()
        else:
            raise ReplyError("A message that does not belong here.")

    def answer(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bool:
        """See `Direct`: in one write. Raises ReplyError, as do the others.

        The exchange ends when its application does, or says so.
        """
        if self.is_closed:
            return True
        head = self._head(status, headers)
        return self._line.write(head + self._end(body))

    def first(self, status: int, headers: Sequence[tuple[bytes, bytes]], data: bytes) -> bool:
        """See `Direct`: in one write."""
        if self.is_closed:
            return True
        head = self._head(status, headers)
        return self._line.write(head + self.reply.render_part(data))

    def more(self, data: bytes) -> bool:
        """See `Direct`."""
        return self.is_closed or self._line.write(self.reply.render_part(data))

    def last(self, data: bytes) -> bool:
        """See `Direct`. The exchange ends as after `answer`."""
        return self.is_closed or self._line.write(self._end(data))

    def _end(self, data: bytes) -> bytes:
        self._inbox.is_answered = True
        return self.reply.render_part(data) + self.reply.render_end()

    def refuse(self, status: int) -> None:
        """Answer for the application, which has not begun to."""
        headers, body = refusal(status)
        self._start(status, [*headers, (b"connection", b"close")])
        self._line.write(self.reply.render_part(body) + self.reply.render_end())

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._line.write(self._head(status, headers))

    def _head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        args = self._line.args
        closes = args.context.is_stopping or not (self.is_asked and self.is_kept)
        lines = args.config.reply_lines
        return self.reply.render_head(status, tuple(headers), lines, closes=closes)


def fixed_scope(args: ProtocolArgs) -> Scope:
    """What is the same in every request's scope of one connection."""
    return {
        "type": "http",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "scheme": "https" if args.ssl else "http",
        "root_path": args.config.root_path,
        "client": args.client,
        "server": args.server,
    }
