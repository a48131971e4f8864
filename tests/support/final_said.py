"""What a final message says, in words that its dialect does not decide."""

import json
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["STOPS", "Said", "said_in_chat", "said_in_messages", "said_in_responses"]

STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_CUTS = {"max_output_tokens": "length", "content_filter": "content_filter"}


@dataclass(frozen=True, slots=True)
class Said:
    """Thoughts, text, calls with their arguments, and why it ended, in OpenAI's word."""

    thinking: str
    text: str
    calls: tuple[tuple[str, Any], ...]
    reason: str

    @property
    def firm(self) -> "Said":
        """The same without the arguments of a cut call: each reader mends those its way."""
        if self.reason in {"stop", "tool_calls"} or not self.calls:
            return self
        *whole, (name, _) = self.calls
        return replace(self, calls=(*whole, (name, None)))


def said_in_chat(completion: dict[str, Any]) -> Said:
    """Of a chat completion's first choice; any reason is as good as `stop` or calls."""
    choice = completion["choices"][0]
    message = choice["message"]
    calls = [call.get("function", call) for call in message.get("tool_calls") or ()]
    return Said(
        thinking=message.get("reasoning_content") or "",
        text=message.get("content") or "",
        calls=tuple((call["name"], arguments(call["arguments"])) for call in calls),
        reason=choice["finish_reason"],
    )


def said_in_messages(message: dict[str, Any]) -> Said:
    """Of a message's blocks."""
    blocks = message["content"]
    return Said(
        thinking="".join(one["thinking"] for one in blocks if one["type"] == "thinking"),
        text="".join(one["text"] for one in blocks if one["type"] == "text"),
        calls=tuple((one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"),
        reason=STOPS[message["stop_reason"]],
    )


def said_in_responses(response: dict[str, Any]) -> Said:
    """Of a response's items; it has no word of its own for an end in calls."""
    items = response["output"]
    calls = [one for one in items if one["type"] == "function_call"]
    cut = (response["incomplete_details"] or {}).get("reason")
    return Said(
        thinking="".join(_texts(items, "reasoning")),
        text="".join(_texts(items, "message")),
        calls=tuple((one["name"], arguments(one["arguments"])) for one in calls),
        reason=_CUTS[cut] if cut else "tool_calls" if calls else "stop",
    )


def arguments(text: str) -> Any:
    """What they say; text that was cut as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _texts(items: list[dict[str, Any]], kind: str) -> list[str]:
    parts = [
        part
        for item in items
        if item["type"] == kind
        for part in (*(item.get("summary") or ()), *(item.get("content") or ()))
    ]
    return [part["text"] for part in parts]
