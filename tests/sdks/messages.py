"""Anthropic's SDK on the Messages API: each way to ask, sync and async."""

from typing import Any

import anthropic

from tests.sdks.asks import PARAMETERS, Answer, Ask, Pieces
from tests.sdks.speaking import AsyncSpeaker, SyncSpeaker, Words
from tests.support.final_said import STOPS, said_in_messages

__all__ = ["AsyncMessages", "Messages"]


def fields_of(ask: Ask, *, is_raw: bool = False) -> dict[str, Any]:
    """The arguments for the SDK; raw ones have a schema where others have its type."""
    fields: dict[str, Any] = {
        "model": ask.model,
        "max_tokens": ask.limit or 4096,
        "messages": [{"role": "user", "content": ask.text}],
    }
    if ask.tools:
        fields["tools"] = [{"name": name, "input_schema": PARAMETERS} for name in ask.tools]
        fields["tool_choice"] = {"type": "any"}
    if ask.thinks:
        fields["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    if ask.schema is not None and is_raw:
        fields["output_config"] = {"format": {"type": "json_schema", "schema": PARAMETERS}}
    elif ask.schema is not None:
        fields["output_format"] = ask.schema
    return fields


def take(pieces: Pieces, event: Any) -> None:
    """One event of a raw stream."""
    match event.type:
        case "content_block_start" if event.content_block.type == "tool_use":
            pieces.call(event.index, event.content_block.name)
        case "content_block_delta":
            match event.delta.type:
                case "text_delta":
                    pieces.text += event.delta.text
                case "thinking_delta":
                    pieces.thinking += event.delta.thinking
                case "input_json_delta":
                    pieces.call(event.index, more=event.delta.partial_json)
        case "message_delta":
            pieces.reason = STOPS[event.delta.stop_reason]


def answer_of(final: Any) -> Answer:
    """A whole message."""
    return Answer(
        said_in_messages(final.to_dict(warnings=False)),
        final,
        getattr(final, "parsed_output", None),
    )


_WORDS = Words(fields_of, take, answer_of)


class Messages(SyncSpeaker):
    """A sync client."""

    words = _WORDS

    def __init__(self, client: anthropic.Anthropic) -> None:
        super().__init__(client, client.messages)

    def helped(self, ask: Ask) -> Answer:
        """Through the stream helper."""
        with self.api.stream(**fields_of(ask)) as stream:
            for _ in stream:
                pass
            return answer_of(stream.get_final_message())


class AsyncMessages(AsyncSpeaker):
    """An async client."""

    words = _WORDS

    def __init__(self, client: anthropic.AsyncAnthropic) -> None:
        super().__init__(client, client.messages)

    async def helped(self, ask: Ask) -> Answer:
        """Through the stream helper."""
        async with self.api.stream(**fields_of(ask)) as stream:
            async for _ in stream:
                pass
            return answer_of(await stream.get_final_message())
