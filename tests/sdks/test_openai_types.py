"""The page about the Responses dialect lists everything that OpenAI's SDK types."""

import typing
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest
from openai.types.responses.input_token_count_params import InputTokenCountParams
from openai.types.responses.response import Response
from openai.types.responses.response_create_params import ResponseCreateParamsBase, ToolChoice
from openai.types.responses.response_input_content_param import ResponseInputContentParam
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from openai.types.responses.response_output_item import ResponseOutputItem
from openai.types.responses.response_stream_event import ResponseStreamEvent
from openai.types.responses.response_usage import ResponseUsage
from openai.types.responses.tool_param import ToolParam
from pydantic import BaseModel

from tests.unit.dialects.test_responses_doc import table


def members(union: object) -> Iterator[object]:
    """The types that a union is made of, however it is nested or annotated."""
    if typing.get_origin(union) is typing.Annotated:
        union = typing.get_args(union)[0]
    if typing.get_origin(union) is typing.Union:
        for member in typing.get_args(union):
            yield from members(member)
    elif union is not type(None):
        yield union


def words(kind: object) -> Iterator[str]:
    """The words of a literal type that may be optional."""
    for member in members(kind):
        if typing.get_origin(member) is typing.Literal:
            yield from typing.get_args(member)


def kinds(union: object) -> set[str]:
    """What the `type` of each member of a union may be."""
    return {
        word
        for member in members(union)
        if isinstance(member, type)
        for word in words(typing.get_type_hints(member)["type"])
    }


def test_every_request_field_is_marked():
    """Those of a request; a count has no others but one that is OpenAI's alone."""
    fields = set(ResponseCreateParamsBase.__annotations__)
    assert fields - table("Request fields").keys() == set()
    counted = set(InputTokenCountParams.__annotations__)
    assert counted - table("Request fields").keys() == {"personality"}


def test_every_response_field_is_marked():
    """Those that are there, and those that never are."""
    assert set(Response.model_fields) - table("The response").keys() == set()


@pytest.mark.parametrize(
    ("heading", "union"),
    [
        ("Input items", ResponseInputItemParam),
        ("Content parts", ResponseInputContentParam),
        ("Tools", ToolParam),
    ],
)
def test_every_type_is_marked(heading: str, union: object):
    """Of items, of parts and of tools."""
    found = kinds(union)
    assert len(found) > 2
    assert found - table(heading).keys() == set()


def test_every_tool_choice_is_about_a_marked_tool():
    """Or narrows them."""
    assert kinds(ToolChoice) - table("Tools").keys() == {"allowed_tools", "computer_use"}


def test_every_item_of_a_response_is_marked():
    """Those that are there, and those that never are; and every count."""
    assert kinds_of_models(ResponseOutputItem) == table("Output items").keys()
    assert set(ResponseUsage.model_fields) == table("Usage").keys()


def test_every_event_is_marked():
    """As one that is sent, or one that never is."""
    never = table("Events that are never sent")
    for kind in kinds_of_models(ResponseStreamEvent):
        patterns = [one for one in never if fnmatch(kind, one)]
        assert len(patterns) == (kind not in table("Events")), kind


def kinds_of_models(union: object) -> set[str]:
    """What the `type` of each model of a union may be."""
    return {
        word
        for member in members(union)
        if isinstance(member, type) and issubclass(member, BaseModel)
        for word in words(member.model_fields["type"].annotation)
    }


def test_every_event_that_is_sent_is_one_of_the_apis():
    """No client meets an event that its SDK does not know."""
    assert table("Events").keys() - kinds_of_models(ResponseStreamEvent) == set()
