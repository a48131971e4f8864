"""Replies as ASGI messages: whole JSON answers, problems, and the caller of an exchange."""

from collections.abc import Callable, Sequence

import trio
from pydantic import JsonValue

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.caller import Header
from anvil_trio.exchange.delivery import problem_headers
from anvil_trio.views.shape import Shape
from anvil_trio.web.asgi_types import Headers, Message, Send
from anvil_trio.web.asked import Asked
from anvil_trio.web.json_text import dumps

__all__ = [
    "AsgiCaller",
    "send_body",
    "send_json",
    "send_problem",
]


async def send_json(send: Send, value: JsonValue | Shape, status: int = 200) -> None:
    """One JSON reply that no cache may keep; head and body leave in one write."""
    await send_body(send, dumps(value), status)


async def send_body(
    send: Send, body: bytes, status: int = 200, extra: Sequence[Header] = ()
) -> None:
    """One whole JSON reply that is rendered already."""
    headers: Headers = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(body)),
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_problem(
    send: Send, what: Problem, body: bytes, extra: Sequence[Header] = ()
) -> None:
    """One error reply in the dialect that rendered `body`."""
    headers = [*problem_headers(what, body), *extra]
    if what.code is Code.AUTHENTICATION:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": what.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


_LENGTH_DIGITS = 20  # more than any body has


class AsgiCaller:
    """The caller of one exchange over ASGI.

    With our own server its leaving is known in the step in which the server learns of it; under
    another server a task that awaits `receive()` stands in (`web.watcher`). A body that they say
    is too large is refused before it is sent.
    """

    def __init__(self, asked: Asked) -> None:
        server = asked.server
        self._receive, self._send, self._server = asked.receive, asked.send, server
        said = asked.first.get(b"content-length", b"")  # of which the server has checked the form
        self._declared_bytes = int(said[:_LENGTH_DIGITS]) if said.isdigit() else 0
        # Whoever changes what is sent on its way (for HEAD, CORS) must see it as messages.
        is_plain = server is not None and asked.send is server.sender
        self._direct = server.direct if server is not None and is_plain else None
        self._leave: Callable[[], None] | None = None
        self.has_started = False
        self.is_drained = True
        self.bytes_sent = 0
        self._body_read = trio.Event() if server is None else None

    def watch_for_leaving(self, leave: Callable[[], None]) -> None:
        """See `Caller`."""
        self._leave = leave
        if self._server is not None:
            self._server.on_gone = leave
            if self._server.gone:
                leave()

    @property
    def has_body(self) -> bool:
        """See `Caller`."""
        return self._server is not None and self._server.has_body

    async def read_body(self, max_bytes: int, *, stall_s: float, total_s: float) -> bytes | Problem:
        """See `Caller`. Ends at once when the caller leaves, since `leave` cuts the exchange.

        A body that says it is too long is not asked for, so that a caller who waits for `100
        Continue` sends none of it.
        """
        if self._declared_bytes > max_bytes:
            return problem(Code.PAYLOAD_TOO_LARGE)
        whole = None if self._server is None else self._server.take_body()
        if whole is not None:
            return whole if len(whole) <= max_bytes else problem(Code.PAYLOAD_TOO_LARGE)
        parts: list[bytes] = []
        size = 0
        last_moment = trio.current_time() + total_s
        with trio.move_on_after(min(stall_s, total_s)) as patience:
            while True:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    self.has_left()
                    await trio.sleep_forever()  # cut by `leave`, or by the patience
                part = message.get("body", b"")
                assert isinstance(part, bytes)
                size += len(part)
                if size > max_bytes:
                    return problem(Code.PAYLOAD_TOO_LARGE)
                parts.append(part)
                if not message.get("more_body", False):
                    if self._body_read is not None:
                        self._body_read.set()
                    return parts[0] if len(parts) == 1 else b"".join(parts)
                patience.deadline = min(trio.current_time() + stall_s, last_moment)
        return problem(Code.BODY_TIMEOUT)

    async def wait_for_leaving(self) -> None:
        """Under a server that does not tell: returns when `receive()` says that they have left."""
        assert self._body_read is not None, "our own server tells"
        await self._body_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def has_left(self) -> None:
        """Say that the caller has gone."""
        if self._leave is not None:
            self._leave()

    def say(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        """See `Caller`."""
        if self._direct is None:
            return False
        self.has_started = True
        self.bytes_sent += len(data)
        self.is_drained = self._direct.answer(status, headers, data)
        return True

    def say_first(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        """See `Caller`."""
        if self._direct is None:
            return False
        self.has_started = True
        self.bytes_sent += len(data)
        self.is_drained = self._direct.first(status, headers, data)
        return True

    def say_more(self, data: bytes) -> bool:
        """See `Caller`."""
        if self._direct is None:
            return False
        self.bytes_sent += len(data)
        self.is_drained = self._direct.more(data)
        return True

    def say_last(self, data: bytes) -> bool:
        """See `Caller`."""
        if self._direct is None:
            return False
        self.bytes_sent += len(data)
        self.is_drained = self._direct.last(data)
        return True

    async def start(self, status: int, headers: Sequence[Header]) -> None:
        """See `Caller`."""
        self.has_started = True
        await self._send(_start(status, headers))

    async def send(self, data: bytes) -> None:
        """See `Caller`."""
        self.bytes_sent += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """See `Caller`."""
        self.bytes_sent += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def drained(self) -> None:
        """See `Caller`. A server that does not tell never lets a write be cut, so none is owed."""
        if self._server is not None:
            await self._server.drained()


def _start(status: int, headers: Sequence[Header]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}
