"""Calls an ASGI application directly: no server, no socket, virtual time."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import trio

from anvil_trio.web.asgi import App
from anvil_trio.web.asgi_types import Headers, Message, Send
from anvil_trio.web.asked import Direct

TOKEN = "operator-token"
BEARER = (b"authorization", b"Bearer " + TOKEN.encode())


@dataclass(slots=True)
class Side:
    """What our own server tells an application about the connection."""

    gone: bool = False
    on_gone: Callable[[], None] | None = None
    drains: int = 0
    body: bytes | None = None
    direct: Direct | None = None  # messages alone
    sender: Send | None = None

    @property
    def has_body(self) -> bool:
        return self.body is not None

    def take_body(self) -> bytes | None:
        return self.body

    async def drained(self) -> None:
        self.drains += 1
        await trio.lowlevel.checkpoint()

    def leave(self) -> None:
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    is_over: bool = False

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])

    async def take(self, message: Message) -> None:
        """The application's `send`."""
        await trio.lowlevel.checkpoint()
        if message["type"] == "http.response.start":
            assert not self.status, "one head"
            status, headers = message["status"], message["headers"]
            assert isinstance(status, int)
            assert isinstance(headers, list)
            self.status, self.headers = status, dict(headers)
        else:
            assert not self.is_over, "bytes after the end"
            body = message["body"]
            assert isinstance(body, bytes)
            self.body += body
            self.is_over = not message["more_body"]


async def request(
    app: App,
    method: str,
    path: str,
    *,
    headers: Headers | None = None,
    parts: Sequence[bytes] = (b"",),
    query: bytes = b"",
    side: Side | None = None,
    leave: trio.Event | None = None,
    answer: Answer | None = None,
) -> Answer:
    """One request. With `side` the server is ours; without it only `receive` tells of leaving."""
    answer = answer or Answer()
    messages = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]

    async def receive() -> Message:
        await trio.lowlevel.checkpoint()
        if messages:
            message: Message = messages.pop(0)
            return message
        await (trio.Event() if leave is None else leave).wait()
        return {"type": "http.disconnect"}

    scope: dict[str, object] = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": [BEARER] if headers is None else headers,
        "extensions": {} if side is None else {"anvil.client": side},
    }
    await app(scope, receive, answer.take)
    return answer
