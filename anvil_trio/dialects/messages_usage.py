"""What ends a Messages reply: why it stopped and what it cost, from what the engine reported."""

from collections.abc import Mapping, Set
from types import MappingProxyType

from anvil_trio.dialects.events import Finished
from anvil_trio.dialects.ir import FinishReason, Usage

__all__ = ["StopReason", "render_usage", "stop_reason_of"]

StopReason = tuple[str, str | None]
"""The reason, and the stop sequence if it was one."""

_BYTES_PER_TOKEN = 4
_REASONS: Mapping[FinishReason, str] = MappingProxyType({
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_CALLS: "end_turn",
    FinishReason.CONTENT_FILTER: "refusal",
})
_MAY_BE_TOOL_USE = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


def stop_reason_of(end: Finished, stop_sequences: Set[str], *, has_calls: bool) -> StopReason:
    """Tool use whenever there are calls and nothing was cut; a stop sequence only if asked for."""
    if has_calls and end.reason in _MAY_BE_TOOL_USE:
        return "tool_use", None
    if end.reason is FinishReason.STOP and end.stop_sequence in stop_sequences:
        return "stop_sequence", end.stop_sequence
    return _REASONS[end.reason], None


def estimate_completion(said_bytes: int) -> int:
    """What an answer of so many bytes counts as, where the engine has not counted."""
    return -(-said_bytes // _BYTES_PER_TOKEN)


def render_usage(usage: Usage, prompt_tokens: int, said_bytes: int) -> dict[str, object]:
    """Counts as Anthropic gives them: `input_tokens` without those that came from the cache.

    Where the engine reported none the two that must be there are estimates, and the others are
    absent. Nothing is ever negative or counted twice.
    """
    prompt = prompt_tokens if usage.prompt_tokens is None else usage.prompt_tokens
    cached = min(usage.cached_tokens or 0, prompt)
    made: dict[str, object] = {"input_tokens": prompt - cached}
    if usage.cached_tokens is not None:
        made["cache_read_input_tokens"] = cached
    estimate = estimate_completion(said_bytes)
    output = estimate if usage.completion_tokens is None else usage.completion_tokens
    made["output_tokens"] = output
    if usage.reasoning_tokens:
        made["output_tokens_details"] = {"thinking_tokens": min(usage.reasoning_tokens, output)}
    return made
