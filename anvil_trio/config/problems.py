"""What is wrong with a configuration: fixed words about a key path, never a value.

A key path is written as TOML would reach the place: `router.tiers[0].replicas[1].id`. Rows are
named by their index, because an id is a value. A key that is no plain word is not shown either.
"""

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "ConfigError",
    "ConfigProblem",
    "ProblemCode",
    "find_duplicates",
    "key_path",
    "path_order",
]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DIGITS = re.compile(r"([0-9]+)")


class ProblemCode(StrEnum):
    """The kinds of fault a configuration can have."""

    TOO_LARGE = "config_too_large"
    UNREADABLE = "config_unreadable"
    NOT_UTF8 = "config_not_utf8"
    NOT_TOML = "config_not_toml"
    REQUIRED = "required"
    UNKNOWN_KEY = "unknown_key"
    INVALID = "invalid"
    CONFLICT = "conflict"
    DUPLICATE = "duplicate"
    UNKNOWN_REFERENCE = "unknown_reference"
    SECRET_UNRESOLVED = "secret_unresolved"  # noqa: S105 - the name of a fault
    FILE_UNREADABLE = "file_unreadable"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One fault. `path` is empty where the file as a whole is meant."""

    path: str
    code: ProblemCode
    message: str

    @property
    def line(self) -> str:
        """The fault in one line: the key path and the rule it breaks."""
        return f"{self.path}: {self.message}" if self.path else self.message


class ConfigError(ValueError):
    """All that is wrong with one configuration, each fault once, in the order of the key paths."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = tuple(sorted(set(problems), key=_place))
        super().__init__("\n".join(problem.line for problem in self.problems))


def key_path(table: str, key: str) -> str:
    """The path of one key of the table at `table`; the key is shown only if it is a plain word."""
    name = key if _PLAIN_KEY.fullmatch(key) else "(quoted key)"
    return f"{table}.{name}" if table else name


def find_duplicates(
    places: Iterable[tuple[str, Hashable]], message: str
) -> Iterator[ConfigProblem]:
    """One problem for each place, after the first, whose value has been seen before."""
    seen = set[Hashable]()
    for path, value in places:
        if value in seen:
            yield ConfigProblem(path, ProblemCode.DUPLICATE, message)
        seen.add(value)


def path_order(path: str) -> list[str | int]:
    """What key paths are sorted by: numbers compare as numbers, so that row 10 follows row 9."""
    parts = _DIGITS.split(path)
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]


def _place(problem: ConfigProblem) -> tuple[list[str | int], str]:
    return path_order(problem.path), problem.line
