"""The three client dialects side by side: what asks, and how an answer is read, in each."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ClientDialect
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from tests.support.small_house import ALIAS

__all__ = ["THREE", "Spoken"]

_HI = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One dialect as its callers speak it."""

    dialect: ClientDialect
    path: str
    fields: dict[str, Any]
    good_end: bytes  # what a stream holds only if it ended well

    @property
    def name(self) -> str:
        """The dialect's name."""
        return self.dialect.name

    def body(self, *, stream: bool = False, model: str = ALIAS) -> bytes:
        """A plain request."""
        return json.dumps({"model": model, "stream": stream, **self.fields}).encode()

    def events(self, received: bytes) -> list[Any]:
        """The JSON of all events of a stream; heartbeats and `[DONE]` are left out."""
        lines = received.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

    def text(self, received: bytes) -> str:
        """The visible text of a stream."""
        return "".join(self._pieces(self.events(received)))

    def _pieces(self, events: list[Any]) -> Iterator[str]:
        for event in events:
            if self.dialect is CHAT:
                yield from (one["delta"].get("content") or "" for one in event.get("choices", ()))
            elif event["type"] == "content_block_delta":
                yield event["delta"]["text"]
            elif event["type"] == "response.output_text.delta":
                yield event["delta"]

    def whole_text(self, received: bytes) -> str:
        """The visible text of a unary reply."""
        reply = json.loads(received)
        if self.dialect is CHAT:
            said = reply["choices"][0]["message"]["content"]
        elif self.dialect is MESSAGES:
            said = reply["content"][0]["text"]
        else:
            said = reply["output"][0]["content"][0]["text"]
        assert isinstance(said, str)
        return said

    def last_error(self, received: bytes) -> dict[str, Any]:
        """The error in a stream's last event."""
        last = self.events(received)[-1]
        error = (
            last["response"]["error"] if last.get("type") == "response.failed" else last["error"]
        )
        assert isinstance(error, dict)
        return error


THREE = {
    one.name: one
    for one in (
        Spoken(CHAT, "/v1/chat/completions", {"messages": _HI}, b"data: [DONE]"),
        Spoken(
            MESSAGES, "/v1/messages", {"messages": _HI, "max_tokens": 64}, b"event: message_stop"
        ),
        Spoken(RESPONSES, "/v1/responses", {"input": "hi"}, b"event: response.completed"),
    )
}
