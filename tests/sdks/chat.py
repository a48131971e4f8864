"""OpenAI's SDK on Chat Completions: each way to ask, sync and async."""

from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from tests.sdks.asks import PARAMETERS, Answer, Ask, Pieces, openai_tool
from tests.sdks.speaking import AsyncSpeaker, SyncSpeaker, Words
from tests.support.final_said import said_in_chat

__all__ = ["AsyncChat", "Chat"]


def fields_of(ask: Ask, *, is_raw: bool = False) -> dict[str, Any]:
    """The arguments for the SDK; raw ones have a schema where others have its type."""
    fields: dict[str, Any] = {
        "model": ask.model,
        "messages": [{"role": "user", "content": ask.text}],
    }
    if ask.tools:
        fields |= {"tools": [openai_tool(name) for name in ask.tools], "tool_choice": "required"}
    if ask.thinks:
        fields["reasoning_effort"] = "low"
    if ask.schema is not None:
        schema = {"name": "City", "schema": PARAMETERS, "strict": True}
        as_json = {"type": "json_schema", "json_schema": schema}
        fields["response_format"] = as_json if is_raw else ask.schema
    if ask.limit is not None:
        fields["max_completion_tokens"] = ask.limit
    return fields


def take(pieces: Pieces, chunk: ChatCompletionChunk) -> None:
    """One chunk of a raw stream."""
    for choice in chunk.choices:
        delta = choice.delta
        pieces.text += delta.content or ""
        pieces.thinking += (delta.model_extra or {}).get("reasoning_content") or ""
        for call in delta.tool_calls or ():
            assert call.function is not None
            pieces.call(call.index, call.function.name, call.function.arguments or "")
        pieces.reason = choice.finish_reason or pieces.reason


def answer_of(final: Any) -> Answer:
    """A whole completion, checked to have the SDK's own types."""
    parsed = getattr(final.choices[0].message, "parsed", None)
    return Answer(said_in_chat(final.to_dict(warnings=False)), final, parsed)


_WORDS = Words(fields_of, take, answer_of)


class Chat(SyncSpeaker):
    """A sync client."""

    words = _WORDS

    def __init__(self, client: openai.OpenAI) -> None:
        super().__init__(client, client.chat.completions)

    def helped(self, ask: Ask) -> Answer:
        """Through the stream helper."""
        with self.api.stream(**fields_of(ask)) as stream:
            for _ in stream:
                pass
            return answer_of(stream.get_final_completion())


class AsyncChat(AsyncSpeaker):
    """An async client."""

    words = _WORDS

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        super().__init__(client, client.chat.completions)

    async def helped(self, ask: Ask) -> Answer:
        """Through the stream helper."""
        async with self.api.stream(**fields_of(ask)) as stream:
            async for _ in stream:
                pass
            return answer_of(await stream.get_final_completion())
