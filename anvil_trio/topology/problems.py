"""What is wrong with a topology: a place, a code and fixed words, never a value."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from anvil_trio.config.problems import path_order

__all__ = ["TopologyCode", "TopologyError", "TopologyProblem"]


class TopologyCode(StrEnum):
    """The kinds of fault a topology can have."""

    READ = "read"
    TOML = "toml"
    DEPTH = "depth"
    TYPE = "type"
    REQUIRED = "required"
    UNKNOWN = "unknown"
    VALUE = "value"
    VERSION = "version"
    URL = "url"
    HOST = "host"
    PORT = "port"
    LOCALHOST = "localhost"
    CREDENTIAL = "credential"
    DUPLICATE = "duplicate"
    REFERENCE = "reference"
    CONFLICT = "conflict"
    CAPACITY_POLICY = "capacity_policy"
    AMBIGUOUS_OWNER = "ambiguous_owner"


@dataclass(frozen=True, slots=True)
class TopologyProblem:
    """One fault. `path` is a key path as in a configuration; empty where the whole is meant."""

    path: str
    code: TopologyCode
    message: str

    @property
    def line(self) -> str:
        """The fault in one line: the key path and the rule it breaks."""
        return f"{self.path}: {self.message}" if self.path else self.message


class TopologyError(ValueError):
    """All that is wrong with one topology, each fault once, in the order of the key paths."""

    def __init__(self, problems: Iterable[TopologyProblem]) -> None:
        self.problems = tuple(sorted(set(problems), key=_place))
        super().__init__("\n".join(problem.line for problem in self.problems))


def _place(problem: TopologyProblem) -> tuple[list[str | int], str]:
    return path_order(problem.path), problem.line
