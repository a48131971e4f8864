"""Good streams of Messages and Responses that say `Hi there.`."""

import json
from typing import Any

__all__ = ["MESSAGES_STREAM", "RESPONSES_STREAM", "named"]


def named(*events):
    """Events by their type."""
    return b"".join(
        f"event: {one['type']}\ndata: {json.dumps(one, separators=(',', ':'))}\n\n".encode()
        for one in events
    )


_MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 0},
}
MESSAGES_STREAM = named(
    {"type": "message_start", "message": _MESSAGE},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " there."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
)
_RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "in_progress",
    "error": None,
    "incomplete_details": None,
    "metadata": {},
    "model": "m",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": None,
}
_PART = {"type": "output_text", "text": "Hi there.", "annotations": []}
_ITEM = {
    "id": "i",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [_PART],
}
_AT = {"item_id": "i", "output_index": 0, "content_index": 0}


def _numbered(*events):
    return [{**one, "sequence_number": number} for number, one in enumerate(events)]


RESPONSES_STREAM = named(
    *_numbered(
        {"type": "response.created", "response": _RESPONSE},
        {"type": "response.in_progress", "response": _RESPONSE},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**_ITEM, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **_AT, "part": {**_PART, "text": ""}},
        {"type": "response.output_text.delta", **_AT, "delta": "Hi there."},
        {"type": "response.output_text.done", **_AT, "text": "Hi there."},
        {"type": "response.content_part.done", **_AT, "part": _PART},
        {"type": "response.output_item.done", "output_index": 0, "item": _ITEM},
        {
            "type": "response.completed",
            "response": {
                **_RESPONSE,
                "status": "completed",
                "output": [_ITEM],
                "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
            },
        },
    )
)
