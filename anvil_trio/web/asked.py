"""One HTTP request as it comes, read once for everybody who asks something of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from anvil_trio.exchange.caller import Header
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, headers_of

__all__ = ["Asked", "Direct", "ServerSide"]


class Direct(Protocol):
    """Takes a reply, or its parts, without waiting; each says whether all is written."""

    def answer(self, status: int, headers: Sequence[Header], body: bytes) -> bool:
        """A whole reply."""
        ...

    def first(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        """A head, and the first part of its body."""
        ...

    def more(self, data: bytes) -> bool:
        """Another part, once the part before it has been written or waited for."""
        ...

    def last(self, data: bytes) -> bool:
        """The last part."""
        ...


class ServerSide(Protocol):
    """What our own server puts into a scope: the connection as seen from the application."""

    gone: bool
    on_gone: Callable[[], None] | None

    @property
    def direct(self) -> Direct | None:
        """Takes a reply without waiting, where the protocol can."""
        ...

    sender: Send | None
    """What the application was given to send by."""

    @property
    def has_body(self) -> bool:
        """Whether the body has come in one piece, and nothing of it was read."""
        ...

    def take_body(self) -> bytes | None:
        """The body, if nothing of it was read and it has come in one piece."""
        ...

    async def drained(self) -> None:
        """Wait until what was sent has been written, or nearly."""
        ...


class Asked:
    """A request's scope, read, and the way back.

    Of the `headers`, `first` has the first value of each name. `server` is the connection under our
    own server, None under another. Whoever is to change what is sent wraps `send`.
    """

    __slots__ = ("first", "headers", "method", "path", "receive", "scope", "send", "server")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path, headers = scope["method"], scope["path"], scope["headers"]
        assert isinstance(method, str)
        assert isinstance(path, str)
        self.scope, self.receive, self.send = scope, receive, send
        self.method, self.path = method, path
        self.headers: Headers = headers if isinstance(headers, list) else headers_of(scope)
        self.first: Mapping[bytes, bytes] = dict(reversed(self.headers))  # the last one stays
        extensions = scope.get("extensions")
        self.server: ServerSide | None = None
        if isinstance(extensions, dict):
            self.server = extensions.get("anvil.client")

    @property
    def query(self) -> bytes:
        """What stands behind the path."""
        query = self.scope.get("query_string", b"")
        assert isinstance(query, bytes)
        return query
