"""How much too long a prompt was, in the words of real engines."""

import pytest

from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.errors import Code, Overflow

LLAMACPP = (
    b'{"error":{"code":400,"message":"request (400019 tokens) exceeds the available context size '
    b'(65536 tokens), try increasing it","type":"exceed_context_size_error"}}'
)
SGLANG = (
    b'{"object":"error","message":"The input (400019 tokens) is longer than the model\'s context '
    b'length (262144 tokens).","type":"BadRequestError","code":400}'
)
VLLM = (
    b'{"error":{"message":"This model\'s maximum context length is 32768 tokens. However, your '
    b"prompt contains at least 32769 input tokens. (parameter=input_tokens, "
    b'value=32769)","type":"BadRequestError","code":400}}'
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (LLAMACPP, Overflow(400_019, 65_536)),
        (SGLANG, Overflow(400_019, 262_144)),
        (VLLM, Overflow(32_769, 32_768)),
        (b'{"error":{"code":"context_length_exceeded"}}', None),
        (b'{"error":"maximum context length"}', None),
        (b'{"error":"maximum context length is 8192, yours is 12"}', None),
        (b'{"error":"maximum context length is %d"}' % 10**13, None),
    ],
)
def test_both_numbers_are_read_where_they_make_sense(said: bytes, expected: Overflow | None):
    """Numbers alone are taken from an engine's words, and only if one is too big for the other."""
    what = error_problem(said, 400)
    assert (what.code, what.overflow) == (Code.CONTEXT_LENGTH_EXCEEDED, expected)
