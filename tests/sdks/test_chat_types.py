"""The page about the Chat dialect lists everything that OpenAI's SDK types."""

import typing

from openai.types import CompletionUsage
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessage,
    chat_completion,
    chat_completion_chunk,
)
from openai.types.chat.chat_completion_assistant_message_param import ContentArrayOfContentPart
from openai.types.chat.chat_completion_content_part_param import ChatCompletionContentPartParam
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
)
from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam
from openai.types.chat.chat_completion_tool_choice_option_param import (
    ChatCompletionToolChoiceOptionParam,
)
from openai.types.chat.chat_completion_tool_union_param import ChatCompletionToolUnionParam
from openai.types.chat.completion_create_params import CompletionCreateParamsBase, ResponseFormat
from openai.types.completion_usage import CompletionTokensDetails, PromptTokensDetails
from pydantic import BaseModel

from tests.sdks.test_openai_types import kinds, members, words
from tests.unit.dialects.test_chat_doc import shown, tables


def fields(*models: type[BaseModel]) -> set[str]:
    """All members of these."""
    return {name for model in models for name in model.model_fields}


def listed(heading: str, number: int = 0) -> set[str]:
    """All that one table names."""
    return set().union(*shown(heading, number))


def test_every_request_field_is_marked():
    """Those of the API, and whether it streams."""
    found = {*CompletionCreateParamsBase.__annotations__, "stream"}
    assert found - tables("Request fields")[0].keys() == set()


def test_every_member_of_a_message_is_marked():
    """Of every role."""
    found = {
        name
        for message in members(ChatCompletionMessageParam)
        if isinstance(message, type)
        for name in typing.get_type_hints(message)
    }
    assert len(found) > 5
    assert found - tables("Messages")[0].keys() == set()


def test_every_type_is_marked():
    """Of parts, tools, tool choices and formats."""
    parts = kinds(ChatCompletionContentPartParam) | kinds(ContentArrayOfContentPart)
    assert parts - tables("Parts")[0].keys() == set()
    assert kinds(ChatCompletionToolUnionParam) - tables("Tools")[0].keys() == set()
    choices = kinds_of_choices()
    assert len(choices) > 4
    assert choices - tables("Tools")[1].keys() == set()
    assert kinds(ResponseFormat) - tables("Formats")[0].keys() == set()


def kinds_of_choices() -> set[str]:
    """The words and the types of tool choices."""
    objects = [one for one in members(ChatCompletionToolChoiceOptionParam) if isinstance(one, type)]
    named = {word for one in objects for word in words(typing.get_type_hints(one)["type"])}
    return named | set(words(ChatCompletionToolChoiceOptionParam))


def test_every_reply_field_is_marked():
    """Of whole replies and of chunks, down to the counts."""
    assert fields(ChatCompletion, ChatCompletionChunk) - listed("The completion") == set()
    choices = fields(chat_completion.Choice, chat_completion_chunk.Choice)
    assert choices - listed("A choice") == set()
    said = fields(ChatCompletionMessage, chat_completion_chunk.ChoiceDelta)
    assert said - listed("What is said") == set()
    calls = fields(ChatCompletionMessageFunctionToolCall, chat_completion_chunk.ChoiceDeltaToolCall)
    assert calls - listed("A call") == set()
    assert fields(CompletionUsage) - listed("Counts") == set()
    details = fields(CompletionTokensDetails, PromptTokensDetails)
    assert details - listed("Counts", 1) == set()
