"""Answers to requests as a check of `conform` or `eval` gets them."""

import json
from typing import Any

from anvil_trio.conform.reply import Reply, Trouble

__all__ = ["CHAT_EVENTS", "anthropic_error", "chat_reply", "events", "json_reply", "openai_error"]

JSON = ((b"content-type", b"application/json"),)
SSE = ((b"content-type", b"text/event-stream; charset=utf-8"),)
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def json_reply(value: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> Reply:
    """A whole answer in JSON."""
    return Reply(status, (*JSON, *headers), json.dumps(value).encode())


def events(*datas: Any, trouble: Trouble | None = None, end: str = "data: [DONE]\n\n") -> Reply:
    """A Chat stream of these events; an empty `end` leaves out the last one."""
    text = "".join(f"data: {json.dumps(data)}\n\n" for data in datas)
    return Reply(200, SSE, (text + end).encode(), trouble)


def openai_error(status: int = 400, *headers: tuple[bytes, bytes], message: str = "No.") -> Reply:
    """A refusal as OpenAI's clients read it."""
    error = {"type": "invalid_request_error", "message": message, "code": "no"}
    return json_reply({"error": error}, status, *headers)


def anthropic_error(status: int = 400) -> Reply:
    """A refusal as Anthropic's clients read it."""
    return json_reply({"type": "error", "error": {"type": "x", "message": "No."}}, status)


def chat_reply(content: str | None = "Hi.", finish: str = "stop", **more: Any) -> Any:
    """A whole completion; `more` are members of its message, `usage` and `model` its own."""
    usage, model = more.pop("usage", USAGE), more.pop("model", "m")
    message = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "model": model, "choices": [choice]} | (
        {} if usage is None else {"usage": usage}
    )


def chunk(delta: Any, finish: str | None = None, **more: Any) -> Any:
    """One chunk of a Chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **more}


CHAT_EVENTS = (
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Hi"}),
    chunk({"content": " there."}),
    chunk({}, "stop"),
)
COUNTS = {**chunk({}), "choices": [], "usage": USAGE}
