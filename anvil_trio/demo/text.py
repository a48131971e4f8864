"""Deterministic prose: the same prompt always gives the same few sentences."""

import hashlib
import re

__all__ = ["compose", "count_tokens"]

_SUBJECTS = (
    "a patient gardener",
    "the night train",
    "an old lighthouse",
    "the second violin",
    "a careful clockmaker",
    "the harbour pilot",
    "a quiet librarian",
    "the morning ferry",
    "a travelling baker",
    "the last streetlamp",
    "a young cartographer",
    "the mountain postman",
    "an honest scale",
    "the paper lantern",
    "a stubborn kettle",
    "the river bridge",
)
_VERBS = (
    "remembers",
    "carries",
    "counts",
    "mends",
    "follows",
    "gathers",
    "measures",
    "guards",
    "answers",
    "sorts",
    "greets",
    "draws",
    "balances",
    "shelters",
    "studies",
    "returns",
)
_OBJECTS = (
    "every small promise",
    "the long way home",
    "a drawer of loose keys",
    "the sound of rain",
    "each unread letter",
    "the colour of copper",
    "a map without borders",
    "the slowest clock in town",
    "three borrowed umbrellas",
    "the names of the winds",
    "a row of empty chairs",
    "the weight of a feather",
    "all the lost buttons",
    "a song with two endings",
    "the shape of the coast",
    "one question at a time",
)
_ENDINGS = (
    "before the rain",
    "without a word",
    "until morning",
    "as if for the first time",
    "in the order they came",
    "by the light of one candle",
    "and asks for nothing",
    "while the town sleeps",
    "twice, to be sure",
    "on the first warm day",
    "under a copper sky",
    "and smiles at the answer",
    "from a window seat",
    "between two tides",
    "with the greatest care",
    "when nobody is looking",
)
_SENTENCES_LEAST = 3
_SENTENCES_SPAN = 3
_TOKEN = re.compile(r"\s*\S+")


def compose(prompt: str) -> tuple[str, ...]:
    """The whole reply to `prompt` as tokens, one word each, that join to three to five sentences.

    Equal prompts give equal replies in every process; the tokens keep the blanks between them.
    """
    draw = hashlib.shake_256(prompt.encode("utf-8", "surrogatepass")).digest(64)
    count = _SENTENCES_LEAST + draw[0] % _SENTENCES_SPAN
    sentences = [_sentence(draw[1 + 4 * index : 5 + 4 * index]) for index in range(count)]
    return tuple(_TOKEN.findall(" ".join(sentences)))


def count_tokens(text: str) -> int:
    """How many tokens this engine makes of `text`: its words."""
    return len(text.split())


def _sentence(draw: bytes) -> str:
    tables = (_SUBJECTS, _VERBS, _OBJECTS, _ENDINGS)
    words = " ".join(table[byte % len(table)] for table, byte in zip(tables, draw, strict=True))
    return f"{words[0].upper()}{words[1:]}."
