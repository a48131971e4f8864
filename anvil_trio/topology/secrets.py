"""What looks like a secret, and so has no place in a file that is shared: a name, or a value."""

import re
from collections.abc import Sequence
from itertools import pairwise

from anvil_trio.topology.words import has_any, split_words

__all__ = ["is_secret_name", "is_secret_value"]

_WORDS = frozenset({
    *("authorization", "credential", "passphrase", "passwd", "password", "secret"),
    *("accesskey", "apikey", "privatekey", "token"),
})
_KINDS_OF_KEY = frozenset({"access", "api", "private"})
_KEYS = frozenset({"key", "keys"})
_COUNTED = "tokens"
"""More than one token is a number of them, and no secret."""
_VARIABLE = "env"

_PEM = "-----BEGIN "
_PEM_KEY = "PRIVATE KEY"
_PARTS = re.compile(r"[A-Za-z0-9_-]+")
_PREFIXES = ("AKIA", "ASIA", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "hf_", "sk-", "xox")
"""How issuers mark what they issue."""
_MIN_ISSUED_CHARS = 16
_SCHEME = "bearer"
_MIN_BEARER_CHARS = 8


def is_secret_name(name: str) -> bool:
    """Whether a key of that name would hold a secret; one that ends in `env` names a variable."""
    words = split_words(name)
    if not words or words[-1] == _VARIABLE:
        return False
    has_key = any(kind in _KINDS_OF_KEY and key in _KEYS for kind, key in pairwise(words))
    return has_key or has_any([word for word in words if word != _COUNTED], _WORDS)


def is_secret_value(text: str) -> bool:
    """Whether a text has a private key, a credential as issuers write them, or a header's in it."""
    return (
        (_PEM in text and _PEM_KEY in text)
        or any(map(_is_issued, _PARTS.findall(text)))
        or _has_bearer(text.split())
    )


def _is_issued(part: str) -> bool:
    """A known beginning alone is a name; what makes it a credential is one long piece after it."""
    prefix = next((each for each in _PREFIXES if part.startswith(each)), None)
    if prefix is None:
        return False
    pieces = part.removeprefix(prefix).split("-")
    return max(map(len, pieces)) >= _MIN_ISSUED_CHARS


def _has_bearer(words: Sequence[str]) -> bool:
    return any(
        scheme.lower() == _SCHEME and len(value) >= _MIN_BEARER_CHARS
        for scheme, value in pairwise(words)
    )
