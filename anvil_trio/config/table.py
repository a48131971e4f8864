"""One table of the file beside the model that says which keys it may have.

A table is checked by itself. Rules between keys then look at what is left of it: `has` tells
whether the file names a key at all, `get` gives its value if that is a valid one. So one bad value
hides no other fault, and an absent key is never taken for an empty one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from anvil_trio.config.problems import ConfigProblem, ProblemCode, key_path

__all__ = ["Rows", "Table", "read_rows", "read_table"]

_REWORDED = {
    "missing": (ProblemCode.REQUIRED, "is required"),
    "extra_forbidden": (ProblemCode.UNKNOWN_KEY, "is not a known key"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """What the file says at `path`, and what is wrong with each key by itself."""

    path: str
    is_table: bool  # if not, it is empty, all its keys are invalid, and it has one problem
    raw: Mapping[str, object] = field(repr=False)
    invalid: frozenset[str]
    defaults: Mapping[str, object] = field(repr=False)
    problems: tuple[ConfigProblem, ...]

    def has(self, key: str) -> bool:
        """Whether the file names `key`, with whatever value."""
        return key in self.raw

    def get(self, key: str) -> object:
        """The value of `key`, or its default where absent; None if what the file says is wrong."""
        if key in self.invalid:
            return None
        value = self.raw.get(key, self.defaults.get(key))
        return tuple(value) if isinstance(value, list) else value

    def at(self, key: str) -> str:
        """The key path of `key`."""
        return key_path(self.path, key)

    def conflict(self, key: str, message: str) -> ConfigProblem:
        """A problem of `key` with other keys."""
        return ConfigProblem(self.at(key), ProblemCode.CONFLICT, message)

    def missing(self, key: str, message: str) -> ConfigProblem:
        """A problem of `key` being absent, where others ask for it."""
        return ConfigProblem(self.at(key), ProblemCode.REQUIRED, message)

    def only(self, keys: Collection[str]) -> dict[str, object]:
        """What the file says of those keys."""
        return {key: value for key, value in self.raw.items() if key in keys}


def read_table(
    model: type[BaseModel], raw: object, path: str, *, elsewhere: Collection[str] = ()
) -> Table:
    """Check `raw` against `model`, key by key; keys named `elsewhere` are checked elsewhere."""
    fields = model.model_fields
    if not isinstance(raw, dict):
        problem = ConfigProblem(path, ProblemCode.INVALID, "must be a table")
        return Table(path, False, {}, frozenset(fields), {}, (problem,))  # noqa: FBT003
    found: list[ErrorDetails] = []
    try:
        model.model_validate({key: raw[key] for key in raw if key not in elsewhere})
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    return Table(
        path=path,
        is_table=True,
        raw=raw,
        invalid=frozenset(str(detail["loc"][0]) for detail in found),
        defaults={
            name: info.get_default(call_default_factory=True)
            for name, info in fields.items()
            if not info.is_required()
        },
        problems=tuple(_reword(path, detail) for detail in found),
    )


def _reword(path: str, detail: ErrorDetails) -> ConfigProblem:
    # Every other kind of error is one of our own (`kinds.refused`), whose words are fixed.
    code, message = _REWORDED.get(detail["type"], (ProblemCode.INVALID, detail["msg"]))
    return ConfigProblem(key_path(path, str(detail["loc"][0])), code, message)


@dataclass(frozen=True, slots=True)
class Rows:
    """The tables of an array of tables, in the order of the file, and what is no table."""

    tables: tuple[Table, ...]
    problems: tuple[ConfigProblem, ...]

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)


def read_rows(model: type[BaseModel], raw: object, path: str) -> Rows:
    """Check each row of `raw` by itself, under `path[0]`, `path[1]`, ..."""
    if not isinstance(raw, list):
        return Rows((), (ConfigProblem(path, ProblemCode.INVALID, "must be an array of tables"),))
    tables = tuple(read_table(model, row, f"{path}[{index}]") for index, row in enumerate(raw))
    return Rows(tables, tuple(problem for table in tables for problem in table.problems))
