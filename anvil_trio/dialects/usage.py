"""What engines report at the end of a reply, in the record's words: finish reason and usage."""

from typing import Annotated

import msgspec

from anvil_trio.dialects.ir import MOST_TOKENS, FinishReason, Usage

__all__ = ["finish_reason_of", "merged_usage", "usage_of"]

_FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}

_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


class _Details(msgspec.Struct, gc=False):
    cached_tokens: _Count | None = None
    reasoning_tokens: _Count | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    reasoning_tokens: _Count | None = None  # SGLang puts it here
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


_NO_DETAILS = _Details()
_DECODER = msgspec.json.Decoder(_Usage)


def finish_reason_of(reason: str) -> FinishReason:
    """The record's word for an engine's; STOP for one that nobody knows."""
    return _FINISH_REASONS.get(reason, FinishReason.STOP)


def usage_of(raw: bytes) -> Usage:
    """The counts in a `usage` object; all unknown where it is not of the known shape."""
    try:
        usage = _DECODER.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return Usage()
    prompt = usage.prompt_tokens_details or _NO_DETAILS
    completion = usage.completion_tokens_details or _NO_DETAILS
    nested = completion.reasoning_tokens
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=prompt.cached_tokens,
        reasoning_tokens=usage.reasoning_tokens if nested is None else nested,
    )


def merged_usage(earlier: Usage, later: Usage) -> Usage:
    """Both reports as one: field by field the later one counts, where it says anything."""
    return Usage(
        prompt_tokens=_newest(earlier.prompt_tokens, later.prompt_tokens),
        completion_tokens=_newest(earlier.completion_tokens, later.completion_tokens),
        cached_tokens=_newest(earlier.cached_tokens, later.cached_tokens),
        reasoning_tokens=_newest(earlier.reasoning_tokens, later.reasoning_tokens),
    )


def _newest(earlier: int | None, later: int | None) -> int | None:
    return earlier if later is None else later
