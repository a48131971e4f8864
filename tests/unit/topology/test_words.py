"""Names as words."""

import pytest

from anvil_trio.topology.words import has_any, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("12-_3", []),
        ("llm", ["llm"]),
        ("LLM", ["llm"]),
        ("llm-a_b2c", ["llm", "a", "b", "c"]),
        ("primaryModel", ["primary", "model"]),
        ("LLMPrimary", ["llm", "primary"]),
        ("theLLM", ["the", "llm"]),
        ("aB", ["a", "b"]),
        ("AB", ["ab"]),
        ("ABc", ["a", "bc"]),
        ("A_Bc dE", ["a", "bc", "d", "e"]),
    ],
)
def test_a_name_is_its_words(text, words):
    """Signs, digits and capitals part them."""
    assert split_words(text) == words


def test_a_plural_is_its_word():
    """By its s, once; a word that ends in one is itself."""
    assert has_any(["a", "models"], {"model"})
    assert has_any(["tts"], {"tts"})
    assert has_any(["ttss"], {"tts"})
    assert not has_any(["modelss", "tt"], {"model", "tts"})
    assert not has_any([], {"model"})
