"""What any engine's reply says, whatever its dialect: decoders make these, encoders read them.

Events come strictly in the engine's order. Everything of one tool call carries that call's number,
counted from 0 without gaps in the order in which the calls began.
"""

from typing import TypeAlias

import msgspec

from anvil_trio.dialects.ir import FinishReason, Usage

__all__ = [
    "ArgumentsDelta",
    "CallBegan",
    "Finished",
    "ReasoningDelta",
    "SignatureDelta",
    "StreamEvent",
    "TextDelta",
    "UsageReported",
]


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """More of the visible answer; never empty."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False):
    """More of the model's reasoning; never empty."""

    text: str


class SignatureDelta(msgspec.Struct, frozen=True, gc=False):
    """The engine's signature over the reasoning that came before (Messages engines only)."""

    signature: str


class CallBegan(msgspec.Struct, frozen=True, gc=False):
    """A tool call begins; `call_id` is never empty (one is made where the engine gave none)."""

    number: int
    call_id: str
    name: str


class ArgumentsDelta(msgspec.Struct, frozen=True, gc=False):
    """More of a call's argument text, never edited; never empty."""

    number: int
    text: str


class Finished(msgspec.Struct, frozen=True, gc=False):
    """The engine's finish reason; `stop_sequence` is the text that ended it, where it was told."""

    reason: FinishReason
    stop_sequence: str | None = None


class UsageReported(msgspec.Struct, frozen=True, gc=False):
    """Token counts so far; a later report replaces an earlier one field by field."""

    usage: Usage


StreamEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | SignatureDelta
    | CallBegan
    | ArgumentsDelta
    | Finished
    | UsageReported
)
