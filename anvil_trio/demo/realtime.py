"""The embedded engine's realtime sessions over ASGI: text is conversation, bytes are echoed."""

from collections.abc import Iterator
from urllib.parse import parse_qs

from anvil_trio.demo.conversation import Conversation, Spoken
from anvil_trio.demo.slots import SlotPool
from anvil_trio.web.asgi_types import Receive, Scope, Send

__all__ = ["PATH", "converse"]

PATH = "/v1/realtime"
_NOT_FOUND = b'{"error":{"message":"The model does not exist.","code":"model_not_found"}}'


async def converse(
    scope: Scope, receive: Receive, send: Send, *, model: str, slots: SlotPool
) -> None:
    """Serve one WebSocket to its end; a handshake that names no model of ours is a 404."""
    await receive()
    query = scope.get("query_string", b"")
    assert isinstance(query, bytes)
    if scope["path"] != PATH or parse_qs(query.decode("latin-1")).get("model") != [model]:
        await _refuse(send)
        return
    await send({"type": "websocket.accept"})
    conversation = Conversation(model)
    await _say(send, conversation.begin(), slots)
    while (message := await receive())["type"] == "websocket.receive":
        text = message.get("text")
        if isinstance(text, str):
            await _say(send, conversation.hear(text), slots)
        else:
            await send({"type": "websocket.send", "bytes": message["bytes"]})


async def _say(send: Send, events: Iterator[Spoken], slots: SlotPool) -> None:
    """Each token when it is due; a slot is taken for those alone."""
    every = list(events)
    if not any(event.is_token for event in every):
        for event in every:
            await _send(send, event)
        return
    async with slots.slot(0) as slot:
        written = 0
        for event in every:
            if event.is_token:
                written += 1
                await slot.written(written)
            await _send(send, event)


async def _send(send: Send, event: Spoken) -> None:
    await send({"type": "websocket.send", "text": event.text})


async def _refuse(send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(_NOT_FOUND)),
    ]
    await send({"type": "websocket.http.response.start", "status": 404, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": _NOT_FOUND})
