"""Bytes to a frozen topology: bounded, closed, its references checked; nothing is looked up.

The shapes are checked first, and only a topology whose every part is right by itself is then
checked as a whole.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from anvil_trio.config.document import parse_document
from anvil_trio.config.model import Frozen
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.table import read_rows, read_table
from anvil_trio.topology.bounds import find_bound_problems
from anvil_trio.topology.fields import CODE_OF_WORDS
from anvil_trio.topology.model import (
    CapacityPolicy,
    GpuRole,
    Host,
    Resource,
    Runtime,
    Topology,
    TopologyHead,
    Transport,
)
from anvil_trio.topology.overlay import merge_overlay
from anvil_trio.topology.problems import TopologyCode, TopologyError, TopologyProblem
from anvil_trio.topology.rules import find_rule_problems
from anvil_trio.topology.workloads import find_workload_problems

__all__ = ["parse_topology"]

_ARRAYS: Mapping[str, type[Frozen]] = MappingProxyType({
    "capacity_policies": CapacityPolicy,
    "hosts": Host,
    "runtimes": Runtime,
    "resources": Resource,
    "gpu_roles": GpuRole,
    "transports": Transport,
})
_CODES = {
    ProblemCode.TOO_LARGE: TopologyCode.READ,
    ProblemCode.NOT_UTF8: TopologyCode.TOML,
    ProblemCode.NOT_TOML: TopologyCode.TOML,
    ProblemCode.REQUIRED: TopologyCode.REQUIRED,
    ProblemCode.UNKNOWN_KEY: TopologyCode.UNKNOWN,
}


def parse_topology(data: bytes, overlay: bytes | None = None) -> Topology:
    """The topology that `data` holds, with `overlay` merged over it.

    Raises TopologyError with all that is wrong at the first stage at which anything is: the files,
    their bounds, the shape of each part, the parts as a whole. Whatever the bytes are, it raises
    nothing else.
    """
    tree = _read_tree(data)
    if overlay is not None:
        tree = merge_overlay(tree, _read_tree(overlay))
        _refuse(find_bound_problems(tree))
    topology = _read_parts(tree)
    _refuse([*find_rule_problems(topology), *find_workload_problems(topology)])
    return topology


def _read_tree(data: bytes) -> Mapping[str, object]:
    """The tables of one file within the bounds, so that what walks over them may recurse."""
    try:
        tree = parse_document(data).tree
    except ConfigError as error:
        raise TopologyError(map(_recode, error.problems)) from None
    _refuse(find_bound_problems(tree))
    return tree


def _read_parts(tree: Mapping[str, object]) -> Topology:
    head = read_table(TopologyHead, tree, "", elsewhere=_ARRAYS)
    arrays = {
        name: read_rows(row, tree[name], name) for name, row in _ARRAYS.items() if name in tree
    }
    problems = [*head.problems, *(found for rows in arrays.values() for found in rows.problems)]
    _refuse(map(_recode, problems))
    return Topology.model_validate({
        **head.only(TopologyHead.model_fields),
        **{
            name: tuple(_ARRAYS[name].model_validate(row.raw) for row in rows)
            for name, rows in arrays.items()
        },
    })


def _refuse(problems: Iterable[TopologyProblem]) -> None:
    found = list(problems)
    if found:
        raise TopologyError(found)


def _recode(problem: ConfigProblem) -> TopologyProblem:
    code = _CODES.get(problem.code) or CODE_OF_WORDS.get(problem.message, TopologyCode.VALUE)
    return TopologyProblem(problem.path, code, problem.message)
