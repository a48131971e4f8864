"""The rules between the keys of a registry: what bounds a parameter, what a profile locks. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from anvil_trio.config.problems import ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.table import Rows, Table
from anvil_trio.operations.inputs import fits
from anvil_trio.operations.model import Kind, Parameter, Scalar

__all__ = ["find_parameter_problems", "find_profile_problems"]

_NUMBERS = {Kind.INTEGER, Kind.NUMBER}
_BOUNDS = ("minimum", "maximum")
_LIMITS = (*_BOUNDS, "max_length", "choices")


def find_parameter_problems(
    parameters: Rows, graph: Mapping[str, JsonValue] | None, *, has_graph: bool
) -> Iterator[ConfigProblem]:
    """What is wrong between the keys of each parameter, and between the parameters."""
    for row in parameters:
        if not row.problems:
            yield from _check_limits(row)
            yield from _check_default(row)
            yield from _check_target(row, graph, has_graph=has_graph)
    for key, words in (
        ("name", "must be unique in its workflow"),
        ("target", "must not be the target of another parameter"),
    ):
        values = ((row.at(key), row.get(key)) for row in parameters)
        yield from find_duplicates(((path, value) for path, value in values if value), words)


def find_profile_problems(
    profiles: Rows, parameters: Mapping[str, Parameter]
) -> Iterator[ConfigProblem]:
    """What is wrong with what profiles lock, given parameters without fault."""
    for row in profiles:
        locked = row.get("locked")
        assert isinstance(locked, Mapping), "a profile without fault locks something"
        if not locked:
            yield _invalid(row, "locked", "must lock at least one parameter")
        if any(
            name not in parameters or not fits(parameters[name], locked[name]) for name in locked
        ):
            yield _invalid(
                row, "locked", "must lock parameters of the workflow to values that they can have"
            )
        if any(parameters[name].kind is Kind.ARTIFACT for name in locked if name in parameters):
            yield _invalid(row, "locked", "must not lock an artifact")
    values = ((row.at("id"), row.get("id")) for row in profiles)
    yield from find_duplicates(values, "must be unique in its workflow")


def _check_limits(row: Table) -> Iterator[ConfigProblem]:
    """Text has a length, numbers have two bounds, or either has choices; nothing has more."""
    wanted = _wanted(Kind(str(row.get("kind"))), has_choices=row.has("choices"))
    for key in _LIMITS:
        if key in wanted and not row.has(key):
            yield row.missing(key, "is required for this kind without choices")
        if key not in wanted and row.has(key):
            yield row.conflict(key, "does not go with this kind, or with choices")
    low, high = row.get("minimum"), row.get("maximum")
    if isinstance(low, float | int) and isinstance(high, float | int) and low > high:
        yield _invalid(row, "minimum", "must not be above maximum")
    if not all(fits(_plain(row), value) for value in _scalars(row.get("choices"))):
        yield _invalid(row, "choices", "must be values of this kind")


def _wanted(kind: Kind, *, has_choices: bool) -> tuple[str, ...]:
    """What bounds a parameter of this kind."""
    if kind in {Kind.BOOLEAN, Kind.ARTIFACT}:
        return ()
    if has_choices:
        return ("choices",)
    return _BOUNDS if kind in _NUMBERS else ("max_length",)


def _check_default(row: Table) -> Iterator[ConfigProblem]:
    default = row.get("default")
    if default is None:
        return
    if row.get("required"):
        yield row.conflict("default", "does not go with required")
    if row.get("kind") == Kind.ARTIFACT:
        yield row.conflict("default", "does not go with this kind")
    elif not fits(_bounded(row), default):
        yield _invalid(row, "default", "must be a value that the parameter can have")


def _check_target(
    row: Table, graph: Mapping[str, JsonValue] | None, *, has_graph: bool
) -> Iterator[ConfigProblem]:
    target = row.get("target")
    if not has_graph:
        if target:
            yield row.conflict("target", "needs a graph")
        return
    if not target:
        yield row.missing("target", "is required with a graph")
    elif graph is not None and not _is_there(str(target), graph):
        yield _invalid(row, "target", "must be an input of a node of the graph")


def _is_there(target: str, graph: Mapping[str, JsonValue]) -> bool:
    node, _, name = target.partition(".")
    found = graph.get(node)
    inputs = found.get("inputs") if isinstance(found, dict) else None
    return isinstance(inputs, dict) and name in inputs


def _plain(row: Table) -> Parameter:
    return Parameter(str(row.get("name")), Kind(str(row.get("kind"))))


def _bounded(row: Table) -> Parameter:
    low, high, length = row.get("minimum"), row.get("maximum"), row.get("max_length")
    choices = row.get("choices")
    return Parameter(
        str(row.get("name")),
        Kind(str(row.get("kind"))),
        minimum=low if isinstance(low, int | float) else None,
        maximum=high if isinstance(high, int | float) else None,
        choices=tuple(_scalars(choices)),
        max_length=length if isinstance(length, int) else None,
    )


def _scalars(values: object) -> Iterator[Scalar]:
    assert isinstance(values, tuple), "an absent key has its default"
    yield from (value for value in values if isinstance(value, str | int | float))


def _invalid(row: Table, key: str, message: str) -> ConfigProblem:
    return ConfigProblem(row.at(key), ProblemCode.INVALID, message)
