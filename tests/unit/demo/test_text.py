"""The engine's prose."""

from anvil_trio.demo.text import compose, count_tokens


def test_equal_prompts_get_equal_replies():
    """The reply is a function of the prompt alone, so every replica gives the same one."""
    assert compose("hello") == compose("hello")


def test_different_prompts_get_different_replies():
    """A hundred prompts give a hundred distinct replies."""
    assert len({compose(f"prompt {number}") for number in range(100)}) == 100


def test_a_reply_is_three_to_five_whole_sentences():
    """A reply joins to readable sentences, each with a capital and a full stop."""
    for number in range(50):
        sentences = "".join(compose(f"prompt {number}")).split(". ")
        assert 3 <= len(sentences) <= 5
        assert all(sentence[0].isupper() for sentence in sentences)
        assert sentences[-1].endswith(".")


def test_the_tokens_of_a_reply_are_its_words():
    """Joined tokens count as many words as there are tokens: usage is never invented."""
    reply = compose("anything")
    assert count_tokens("".join(reply)) == len(reply)


def test_any_text_is_a_prompt():
    """Lone surrogates, as JSON may carry them, do not break the engine."""
    assert compose("\ud800")
