"""Where WebSocket and HTTP are mistaken for one another: refused at once, over HTTP.

A client of the Responses API that may speak WebSocket asks for it first, and posts as soon as it is
told 426. Whoever asks for the live feed as for a page is told 426 too, the other way round.
"""

from collections.abc import Sequence

from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.caller import Header
from anvil_trio.web.asgi_types import Headers, Message, Receive, Scope, Send
from anvil_trio.web.respond import send_problem
from anvil_trio.web.router import entry_of

__all__ = ["SOCKET_ONLY", "answer", "is_upgrade", "refusal_of", "refuse", "send_refusal"]

_POSTED = frozenset({"/v1/responses"})
_UPGRADE_REQUIRED = 426
_WORDS = "There is no WebSocket here; this path takes POST."
_INSTEAD: Headers = [(b"upgrade", b"HTTP/1.1"), (b"allow", b"POST")]

SOCKET_ONLY = problem(
    Code.METHOD_NOT_ALLOWED, status=_UPGRADE_REQUIRED, message="This path takes a WebSocket."
)
"""A plain request where there is nothing but a WebSocket."""

_SOCKET: Headers = [(b"upgrade", b"websocket")]


def is_upgrade(headers: Headers) -> bool:
    """Whether a plain request asks to go on as a WebSocket, too loosely to be a handshake."""
    return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in headers)


def refusal_of(path: str) -> Problem | None:
    """The 426 of a path where one posts instead; None for any other."""
    if entry_of(path) not in _POSTED:
        return None
    return problem(Code.METHOD_NOT_ALLOWED, status=_UPGRADE_REQUIRED, message=_WORDS)


async def refuse(what: Problem | None, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a handshake with a problem where the server can do that, else with its plain 403."""
    await receive()
    await answer(what, scope, send)


async def answer(
    what: Problem | None, scope: Scope, send: Send, headers: Sequence[Header] = ()
) -> None:
    """The same for a handshake that was received, with more headers."""
    extensions = scope.get("extensions")
    can_answer = isinstance(extensions, dict) and "websocket.http.response" in extensions
    if what is None or not can_answer:
        await send({"type": "websocket.close"})
        return

    async def reject(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    await send_refusal(reject, what, headers)


async def send_refusal(send: Send, what: Problem, headers: Sequence[Header] = ()) -> None:
    """Send a problem; a 426 says what to do instead."""
    extra = _INSTEAD if what.status == _UPGRADE_REQUIRED else []
    if what is SOCKET_ONLY:
        extra = _SOCKET
    await send_problem(send, what, CHAT.render_problem(what), [*extra, *headers])
