"""`GET /healthz`: open to everyone, says nothing but whether we are stopping."""

from http import HTTPStatus

from anvil_trio.web.asgi_types import Send
from anvil_trio.web.respond import send_json

__all__ = ["answer_health"]


async def answer_health(send: Send, *, is_draining: bool) -> None:
    """200 `ok`, or 503 `draining` from the moment of a stop (decisions 25, 45)."""
    status = HTTPStatus.SERVICE_UNAVAILABLE if is_draining else HTTPStatus.OK
    await send_json(send, {"status": "draining" if is_draining else "ok"}, status)
