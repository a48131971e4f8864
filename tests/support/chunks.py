"""Chat stream pieces as an engine writes them."""

import json

from anvil_trio.upstream.stream import END, Head
from tests.support.fake_upstream import JSON, SSE, Reply, Step, reply, stream

DONE = b"data: [DONE]\n\n"


def event(
    delta: dict[str, object] | None = None, finish: str | None = None, **more: object
) -> bytes:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served-model",
        "choices": [choice],
        **more,
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def text(piece: str) -> bytes:
    """One chunk of visible text."""
    return event({"content": piece})


ROLE = event({"role": "assistant", "content": ""})
STOP = event(finish="stop")


def good_stream(*pieces: str, gap_s: float = 0.0) -> Reply:
    """A whole good stream of these pieces."""
    steps: list[Step] = [ROLE]
    for piece in pieces or ("Hello",):
        steps += [gap_s, text(piece)] if gap_s else [text(piece)]
    return stream(*steps, STOP, DONE)


def good_reply(content: str = "Hello") -> Reply:
    """A whole good unary reply."""
    return reply(unary_body(content))


def unary_body(content: str = "Hello") -> bytes:
    """The JSON of a unary reply."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
    }
    return json.dumps(body).encode()


def seen_text(received: bytes) -> str:
    """The visible text of a chat stream that a caller received."""
    pieces = []
    for line in received.decode().split("\n"):
        if line.startswith("data: {"):
            choices = json.loads(line[6:]).get("choices", [])
            pieces += [choice["delta"].get("content") or "" for choice in choices]
    return "".join(pieces)


__all__ = [
    "DONE",
    "END",
    "JSON",
    "ROLE",
    "SSE",
    "STOP",
    "Head",
    "event",
    "good_reply",
    "good_stream",
    "seen_text",
    "stream",
    "text",
    "unary_body",
]
