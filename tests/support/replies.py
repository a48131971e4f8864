"""Replies as they come from a socket, and an application that notes its requests."""

import re

from tests.support.wire import RawClient
from tests.support.wire_apps import Receive, Scope, Send, reply

__all__ = ["Recorder", "chat", "read_replies", "statuses"]


class Recorder:
    """Echoes, and notes the paths and the whole bodies that it was given."""

    def __init__(self) -> None:
        self.paths: list[object] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"])
        body, is_complete = b"", False
        while not is_complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            piece = message["body"]
            assert isinstance(piece, bytes)
            body += piece
            is_complete = not message["more_body"]
        self.bodies.append(body)
        await reply(send, body)


async def chat(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the first text of a WebSocket; a plain request gets its path."""
    if scope["type"] != "websocket":
        await reply(send, str(scope["path"]).encode())
        return
    await receive()
    await send({"type": "websocket.accept", "headers": [(b"x-of", b"ours")]})
    message = await receive()
    await send({"type": "websocket.send", "text": f"{message['text']}!"})
    await receive()


def statuses(data: bytes) -> list[int]:
    """The statuses of all replies."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d+) ", data)]


async def read_replies(client: RawClient, count: int) -> bytes:
    """Replies with a length, as many as are awaited, or all that come before the end."""
    data = b""
    while _whole_replies(data) < count:
        more = await client.read_some()
        if not more:
            break
        data += more
    return data


def _whole_replies(data: bytes) -> int:
    count = 0
    while b"\r\n\r\n" in data:
        head, _, data = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(data) < length:
            break
        data, count = data[length:], count + 1
    return count
