"""Bytes to a TOML tree: bounded, decoded once, with the digest of exactly those bytes (R004)."""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode

__all__ = ["MAX_CONFIG_BYTES", "MAX_DOTS", "MAX_KEY_PARTS", "Document", "parse_document"]

MAX_CONFIG_BYTES = 1_048_576
"""A configuration is never larger; readers take one byte more, to see that there is one."""

MAX_KEY_PARTS = 80
"""How many names one key may have, joined by dots; each costs the parser all those before it."""
MAX_DOTS = 50_000
"""How many dots all keys of a file, and its numbers, may have together, for the same reason."""

# What is no key: texts, whose dots mean nothing, and comments. A text that has no end is a syntax
# fault, which the parser finds; here it ends with the file.
_NO_KEYS = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'{3}(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+(?:"|$)'
    r"|'[^'\n]*+(?:'|$)"
    r"|\#[^\n]*+",
    re.DOTALL | re.MULTILINE,
)
_NAME_AND_DOT = r"[A-Za-z0-9_-]++[ \t]*+\.[ \t]*+"
_BEGINNING = r"(?<![A-Za-z0-9_-])"
_LONG_KEY = re.compile(f"{_BEGINNING}(?:{_NAME_AND_DOT}){{{MAX_KEY_PARTS}}}")
_TOML_POSITION = re.compile(r"\((at line [0-9]+, column [0-9]+|at end of document)\)\Z")


@dataclass(frozen=True, slots=True)
class Document:
    """One file as it was read. The tree is what tomllib made of it, nothing is checked yet."""

    source: bytes = field(repr=False)
    sha256: str
    tree: Mapping[str, object] = field(repr=False)


def parse_document(data: bytes) -> Document:
    """Decode `data` once, as UTF-8 and then as TOML.

    Raises ConfigError with one problem of the whole file: too large, not UTF-8, or not TOML. Of a
    syntax fault only the place is told, because tomllib's own words may quote the file.
    """
    if len(data) > MAX_CONFIG_BYTES:
        raise _whole_file(ProblemCode.TOO_LARGE, f"the file is above {MAX_CONFIG_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _whole_file(ProblemCode.NOT_UTF8, "the file is not UTF-8") from None
    keys = _NO_KEYS.sub("_", text)  # each text is one name, if it is part of a key at all
    if keys.count(".") > MAX_DOTS or _LONG_KEY.search(keys):
        raise _whole_file(ProblemCode.NOT_TOML, "the file is nested too deeply")
    try:
        tree: Mapping[str, object] = tomllib.loads(text)
    except RecursionError:
        raise _whole_file(ProblemCode.NOT_TOML, "the file is nested too deeply") from None
    except ValueError as error:  # also what int() says of a number of 5000 digits
        raise _whole_file(ProblemCode.NOT_TOML, _syntax_message(str(error))) from None
    return Document(source=data, sha256=hashlib.sha256(data).hexdigest(), tree=tree)


def _syntax_message(words: str) -> str:
    position = _TOML_POSITION.search(words)
    where = "" if position is None else f" {position[1]}"
    return f"the file is not valid TOML{where}"


def _whole_file(code: ProblemCode, message: str) -> ConfigError:
    return ConfigError([ConfigProblem("", code, message)])
