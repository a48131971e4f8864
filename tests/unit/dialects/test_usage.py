"""Counts and finish reasons as engines report them."""

import pytest

from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.usage import finish_reason_of, usage_of


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", FinishReason.STOP),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("function_call", FinishReason.TOOL_CALLS),
        ("length", FinishReason.LENGTH),
        ("model_length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("abort", FinishReason.STOP),
    ],
)
def test_a_finish_reason_has_one_word_in_the_record(reason: str, word: FinishReason):
    """Engines' own words are told apart; what nobody knows is a stop."""
    assert finish_reason_of(reason) is word


def test_counts_are_read_where_each_engine_puts_them():
    """OpenAI's nested counts, and SGLang's reasoning tokens at the top."""
    nested = (
        b'{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,'
        b'"prompt_tokens_details":{"cached_tokens":4},'
        b'"completion_tokens_details":{"reasoning_tokens":2}}'
    )
    assert usage_of(nested) == Usage(9, 3, 4, 2)
    top = b'{"prompt_tokens":9,"reasoning_tokens":1,"prompt_tokens_details":null}'
    assert usage_of(top) == Usage(9, None, None, 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"7",
        b'{"prompt_tokens":-1}',
        b'{"prompt_tokens":"x"}',
        b'{"prompt_tokens":9223372036854775808}',
        b'{"prompt_tokens":1' + b"0" * 4200 + b"}",
        b'{"prompt_tokens":3,"deep":' + b"[" * 2000 + b"]" * 2000 + b"}",
    ],
)
def test_counts_that_are_missing_or_odd_are_unknown(raw: bytes):
    """No count is ever made up, and none breaks a reply."""
    assert usage_of(raw) == Usage()
