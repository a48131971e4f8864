"""OpenAI's SDK on the Responses API: each way to ask, sync and async."""

from typing import Any

import openai

from tests.sdks.asks import PARAMETERS, Answer, Ask, Pieces, openai_tool
from tests.sdks.speaking import AsyncSpeaker, SyncSpeaker, Words
from tests.support.final_said import said_in_responses

__all__ = ["AsyncResponses", "Responses"]

_ENDS = {"response.completed", "response.incomplete", "response.failed"}


def fields_of(ask: Ask, *, is_raw: bool = False) -> dict[str, Any]:
    """The arguments for the SDK; raw ones have a schema where others have its type."""
    fields: dict[str, Any] = {"model": ask.model, "input": ask.text}
    if ask.tools:
        tools = [{"type": "function", **openai_tool(name)["function"]} for name in ask.tools]
        fields |= {"tools": tools, "tool_choice": "required"}
    if ask.thinks:
        fields["reasoning"] = {"effort": "low"}
    if ask.schema is not None and is_raw:
        schema = {"type": "json_schema", "name": "City", "schema": PARAMETERS, "strict": True}
        fields["text"] = {"format": schema}
    elif ask.schema is not None:
        fields["text_format"] = ask.schema
    if ask.limit is not None:
        fields["max_output_tokens"] = ask.limit
    return fields


def take(pieces: Pieces, event: Any) -> None:
    """One event of a raw stream."""
    match event.type:
        case "response.output_text.delta":
            pieces.text += event.delta
        case "response.reasoning_text.delta":
            pieces.thinking += event.delta
        case "response.output_item.added" if event.item.type == "function_call":
            pieces.call(event.output_index, event.item.name)
        case "response.function_call_arguments.delta":
            pieces.call(event.output_index, more=event.delta)
        case kind if kind in _ENDS:
            pieces.reason = said_in_responses(event.response.to_dict()).reason


def answer_of(final: Any) -> Answer:
    """A whole response."""
    return Answer(
        said_in_responses(final.to_dict(warnings=False)),
        final,
        getattr(final, "output_parsed", None),
    )


_WORDS = Words(fields_of, take, answer_of)


class Responses(SyncSpeaker):
    """A sync client."""

    words = _WORDS

    def __init__(self, client: openai.OpenAI) -> None:
        super().__init__(client, client.responses)

    def helped(self, ask: Ask) -> Answer:
        """Through the stream helper; of an answer that was cut its last event has the whole."""
        with self.api.stream(**fields_of(ask)) as stream:
            last: Any = [event for event in stream if event.type in _ENDS][-1]
            if last.type == "response.completed":
                return answer_of(stream.get_final_response())
            return answer_of(last.response)


class AsyncResponses(AsyncSpeaker):
    """An async client."""

    words = _WORDS

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        super().__init__(client, client.responses)

    async def helped(self, ask: Ask) -> Answer:
        """Through the stream helper; of an answer that was cut its last event has the whole."""
        async with self.api.stream(**fields_of(ask)) as stream:
            last: Any = [event async for event in stream if event.type in _ENDS][-1]
            if last.type == "response.completed":
                return answer_of(await stream.get_final_response())
            return answer_of(last.response)
