"""The page about the Messages dialect lists everything that Anthropic's SDK types."""

import re
import typing
from collections.abc import Iterator

from anthropic.types import (
    Message,
    MessageDeltaUsage,
    RawMessageStreamEvent,
    StopReason,
    Usage,
)
from anthropic.types import message_create_params as stable
from anthropic.types.beta import (
    BetaContentBlock,
    BetaContentBlockParam,
    BetaMessage,
    BetaRawContentBlockDelta,
    BetaToolUnionParam,
    BetaUsage,
)
from anthropic.types.beta import message_create_params as beta
from pydantic import BaseModel

from tests.unit.dialects.test_messages_doc import table, under


def members(union: object) -> Iterator[object]:
    """The types that a union is made of, however it is nested or annotated."""
    if typing.get_origin(union) is typing.Annotated:
        union = typing.get_args(union)[0]
    if typing.get_origin(union) is typing.Union:
        for member in typing.get_args(union):
            yield from members(member)
    elif union is not type(None):
        yield union


def type_of(member: type) -> object:
    """The annotation of the field `type`."""
    if issubclass(member, BaseModel):
        return member.model_fields["type"].annotation
    return typing.get_type_hints(member)["type"]


def kinds(union: object, base: str = "") -> set[str]:
    """What the `type` of each member of a union may be; only of those whose name ends in `base`."""
    found: set[str] = set()
    for member in members(union):
        if isinstance(member, type) and member.__name__.endswith(base):
            for literal in members(type_of(member)):
                found |= set(typing.get_args(literal))
    return found


def test_every_request_field_is_marked():
    """Those of the API and of its betas."""
    fields = {
        *stable.MessageCreateParamsBase.__annotations__,
        *beta.MessageCreateParamsBase.__annotations__,
        "stream",
    }
    assert fields - table("Request fields").keys() == set()


def test_every_block_is_marked():
    """All that a caller may send back."""
    found = kinds(BetaContentBlockParam, "Param")
    assert len(found) > 20
    assert found - table("Content blocks").keys() == set()


def test_every_reply_field_is_marked():
    """Of messages, of counts and of events."""
    fields = {*Message.model_fields, *BetaMessage.model_fields}
    assert fields - table("The message").keys() == set()
    counts = {*Usage.model_fields, *BetaUsage.model_fields}
    assert counts - table("Usage").keys() == set()
    assert kinds(RawMessageStreamEvent) - table("Events").keys() == set()


def test_every_block_and_delta_of_a_reply_is_marked():
    """Those that are there, and those that never are; the stop reasons that are given are known."""
    blocks = kinds(BetaContentBlock)
    assert blocks == table("Reply blocks").keys()
    assert kinds(BetaRawContentBlockDelta) == table("Deltas").keys()
    assert {*MessageDeltaUsage.model_fields} - table("Usage").keys() == set()
    given = set(re.findall(r"`(\w+)`", " ".join(stop_reasons())))
    assert given - set(typing.get_args(StopReason)) == set()


def stop_reasons() -> list[str]:
    """The second cells of the table of stop reasons."""
    rows = re.findall(r"^\| `[^|]+\|([^|]*)\|$", under("Stop reasons"), re.MULTILINE)
    assert len(rows) > 3
    return rows


def test_no_tool_but_a_custom_one_is_the_callers_own():
    """Each other type is dropped by the rule for all of them."""
    found = kinds(BetaToolUnionParam)
    assert "custom" in found
    assert len(found) > 20
