"""The workflow registry: bytes to recipes, all or nothing, without opening a file. Pure.

Nothing that the registry does not name can be run, and nothing it names is unbounded. Problems are
told by key path and rule, below the name of the variable that leads to the file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from anvil_trio.config.document import parse_document
from anvil_trio.config.json_object import read_json_object
from anvil_trio.config.json_values import is_json
from anvil_trio.config.problems import (
    ConfigError,
    ConfigProblem,
    ProblemCode,
    find_duplicates,
)
from anvil_trio.config.table import Rows, Table, read_rows, read_table
from anvil_trio.operations.model import Kind, Parameter, QualityProfile, Scalar, Workflow
from anvil_trio.operations.recipe import Recipe, Registry, Target
from anvil_trio.operations.registry_rows import (
    LISTS,
    ParameterRow,
    ProfileRow,
    RegistryRow,
    WorkflowRow,
)
from anvil_trio.operations.registry_rules import find_parameter_problems, find_profile_problems

__all__ = ["MAX_GRAPH_BYTES", "REGISTRY_KEY", "ReadGraph", "parse_registry"]

REGISTRY_KEY = "ANVIL_MEDIA_WORKFLOW_REGISTRY"
"""The variable that leads to the registry, and what its problems are told under."""

MAX_GRAPH_BYTES = 1_048_576

ReadGraph = Callable[[str], bytes | None]
"""The bytes of a file beside the registry, one more than `MAX_GRAPH_BYTES` at most, or None."""

_GRAPH = (
    "must name a JSON file beside the registry, of at most 1 MiB: a graph in the backend's API"
    " format"
)


@dataclass(frozen=True, slots=True)
class _Read:
    """One workflow's tables, before anything is made of them."""

    table: Table
    parameters: Rows
    profiles: Rows
    graph: Mapping[str, JsonValue] | None


def parse_registry(data: bytes, read_graph: ReadGraph, *, needs_graphs: bool) -> Registry:
    """The registry in `data`; `needs_graphs` says whether the backend runs nothing without one.

    Raises ConfigError with all that is wrong with it, and nothing else.
    """
    try:
        tree = parse_document(data).tree
    except ConfigError as error:
        raise ConfigError(
            ConfigProblem(REGISTRY_KEY, problem.code, problem.message) for problem in error.problems
        ) from None
    root = read_table(RegistryRow, tree, REGISTRY_KEY)
    rows, problems = _rows(WorkflowRow, root, "workflows")
    if not rows.tables and not problems:
        problems.append(root.missing("workflows", "must name at least one workflow"))
    problems += root.problems
    reads = list[_Read]()
    for table in rows:
        read, found = _read(table, read_graph, needs_graphs=needs_graphs)
        reads.append(read)
        problems += found
    names = ((read.table.at("version"), _name(read.table)) for read in reads)
    problems += find_duplicates(names, "must be another than that of the same id before it")
    if problems:
        raise ConfigError(problems)
    return Registry(tuple(map(_recipe, reads)))


def _rows(
    model: type[WorkflowRow | ParameterRow | ProfileRow], table: Table, key: str
) -> tuple[Rows, list[ConfigProblem]]:
    rows = read_rows(model, list(_list(table.raw.get(key, []))), table.at(key))
    problems = [*rows.problems, *(problem for row in rows for problem in row.problems)]
    raw = table.raw.get(key, [])
    if not isinstance(raw, list):
        message = "must be an array of tables"
        problems.append(ConfigProblem(table.at(key), ProblemCode.INVALID, message))
    elif len(raw) > LISTS[key]:
        message = f"must have at most {LISTS[key]} rows"
        problems.append(ConfigProblem(table.at(key), ProblemCode.INVALID, message))
    return rows, problems


def _list(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else []


def _read(
    table: Table, read_graph: ReadGraph, *, needs_graphs: bool
) -> tuple[_Read, list[ConfigProblem]]:
    parameters, problems = _rows(ParameterRow, table, "parameters")
    profiles, found = _rows(ProfileRow, table, "quality_profiles")
    problems += found
    graph, name = None, table.get("graph")
    if name:
        graph = _graph(read_graph(str(name)))
        if graph is None:
            path = table.at("graph")
            problems.append(ConfigProblem(path, ProblemCode.FILE_UNREADABLE, _GRAPH))
    elif needs_graphs and table.is_table:
        problems.append(table.missing("graph", "is required by the backend"))
    problems += find_parameter_problems(parameters, graph, has_graph=bool(name))
    if not problems:
        known = {each.name: each for each in map(_parameter, parameters)}
        problems += find_profile_problems(profiles, known)
    return _Read(table, parameters, profiles, graph), problems


def _graph(data: bytes | None) -> Mapping[str, JsonValue] | None:
    """The graph: nodes by name, each an object with a class and its inputs."""
    if data is None or len(data) > MAX_GRAPH_BYTES:
        return None
    found = read_json_object(data)
    if not found or not is_json(found) or not all(map(_is_node, found.values())):
        return None
    return found


def _is_node(node: JsonValue) -> bool:
    return (
        isinstance(node, dict)
        and isinstance(node.get("class_type"), str)
        and isinstance(node.get("inputs"), dict)
    )


def _name(table: Table) -> tuple[object, object] | object:
    """What must be unique; a row whose name is wrong is like no other."""
    name = (table.get("id"), table.get("version"))
    return object() if None in name else name


def _recipe(read: _Read) -> Recipe:
    table = read.table
    workflow = Workflow(
        id=str(table.get("id")),
        version=str(table.get("version")),
        title=str(table.get("title")),
        description=str(table.get("description")),
        parameters=tuple(map(_parameter, read.parameters)),
        quality_profiles=tuple(map(_profile, read.profiles)),
        output_media_type=str(table.get("output_media_type")),
        requires_approval=table.get("requires_approval") is True,
    )
    return Recipe(workflow, read.graph, dict(_targets(read.parameters)))


def _targets(parameters: Rows) -> Iterator[tuple[str, Target]]:
    for row in parameters:
        target = str(row.get("target"))
        if target:
            node, _, name = target.partition(".")
            yield str(row.get("name")), Target(node, name)


def _parameter(row: Table) -> Parameter:
    checked = ParameterRow.model_validate(dict(row.raw))
    return Parameter(
        name=checked.name,
        kind=Kind(checked.kind),
        required=checked.required,
        default=checked.default,
        minimum=checked.minimum,
        maximum=checked.maximum,
        choices=checked.choices,
        max_length=checked.max_length,
        description=checked.description,
    )


def _profile(row: Table) -> QualityProfile:
    checked = ProfileRow.model_validate(dict(row.raw))
    return QualityProfile(checked.id, checked.title, dict(_scalars(checked.locked)))


def _scalars(locked: Mapping[str, JsonValue]) -> Iterator[tuple[str, Scalar]]:
    for name, value in locked.items():
        assert isinstance(value, (str, int, float, bool)), "the rules let only scalars pass"
        yield name, value
