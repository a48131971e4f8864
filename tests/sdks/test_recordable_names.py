"""What a record may call a left-out field, compared with what the SDKs call theirs."""

import typing

import pytest
from anthropic.types import message_create_params
from anthropic.types.beta import message_create_params as beta_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import ToolParam, response_create_params

from anvil_trio.decisions.dropped import RECORDABLE

REQUESTS = (
    completion_create_params.CompletionCreateParamsStreaming,
    message_create_params.MessageCreateParamsStreaming,
    beta_create_params.MessageCreateParamsStreaming,
    response_create_params.ResponseCreateParamsStreaming,
)


@pytest.mark.parametrize("request_type", REQUESTS)
def test_every_field_of_a_request_can_be_named(request_type):
    """A field that an SDK types is called by its name in the record when it is dropped."""
    fields = request_type.__required_keys__ | request_type.__optional_keys__
    assert fields - RECORDABLE == set()


def test_every_hosted_tool_can_be_named():
    """A tool that OpenAI would run is called by its type."""
    kinds = {
        word
        for tool in typing.get_args(ToolParam)
        for word in typing.get_args(typing.get_type_hints(tool)["type"])
    }
    assert {f"tools-{kind}" for kind in kinds - {"function"}} - RECORDABLE == set()
