"""Names as the words that they are made of, however they are joined: a_b, a-b, aB, A_B."""

import re
from collections.abc import Collection, Sequence

__all__ = ["has_any", "split_words"]

_LETTERS = re.compile(r"[A-Za-z]+")


def split_words(text: str) -> Sequence[str]:
    """The words of a name in small letters; digits and signs part them and are left out."""
    return [word for run in _LETTERS.findall(text) for word in _split_cases(run)]


def has_any(words: Collection[str], wanted: Collection[str]) -> bool:
    """Whether one of `words` is one of `wanted`, or more than one of its kind."""
    return any(word in wanted or word.removesuffix("s") in wanted for word in words)


def _split_cases(run: str) -> Sequence[str]:
    """A word begins at a capital that follows, or is followed by, a small letter."""
    starts = [0]
    for at in range(1, len(run)):
        is_before_small = at + 1 < len(run) and run[at + 1].islower()
        if run[at].isupper() and (run[at - 1].islower() or is_before_small):
            starts.append(at)
    ends = [*starts[1:], len(run)]
    return [run[start:end].lower() for start, end in zip(starts, ends, strict=True)]
