"""The token estimate."""

import pytest

from anvil_trio.dialects.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        ([], 0),
        ([""], 0),
        (["a b c d e"], 5),
        (["abcdefgh"], 2),
        (["a", "b"], 2),
        (["one two", "three"], 3),
        (["  a \n b  "], 2),
        (["你" * 40], 30),
        (["word " * 100], 125),
        (["é"], 1),
    ],
)
def test_an_estimate_is_the_greater_of_words_and_quarters_of_bytes(texts: list[str], tokens: int):
    """Words for text of short words, bytes for long ones and for scripts without blanks."""
    assert estimate_tokens(texts) == tokens
