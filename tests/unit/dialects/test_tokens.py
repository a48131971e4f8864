"""The token estimate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.tokens import estimate_tokens
from tests.unit.dialects.chats import patient


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


@patient
@given(st.lists(st.text(st.sampled_from(" \n\tab\x0bé"), max_size=12), max_size=4))
def test_words_are_counted_as_splitting_would_count_them(texts: list[str]):
    """Whatever stands between them."""
    words = sum(len(text.encode().split()) for text in texts)
    size = len("\n".join(texts).encode())
    assert estimate_tokens(texts) == max(words, size // 4)
