"""What no topology may be or hold, whatever its keys mean: too deep, too large, or a secret."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from anvil_trio.config.problems import key_path
from anvil_trio.topology.problems import TopologyCode, TopologyProblem
from anvil_trio.topology.secrets import is_secret_name, is_secret_value

__all__ = ["MAX_DEPTH", "MAX_NODES", "MAX_SCALAR_CHARS", "find_bound_problems"]

MAX_DEPTH = 64
"""How deep tables and arrays may be, the document itself included."""
MAX_NODES = 10_000
"""How many values there may be: tables, arrays and what they hold."""
MAX_SCALAR_CHARS = 65_536

_TOO_DEEP = f"must not be nested deeper than {MAX_DEPTH}"
_TOO_MANY = f"must not hold more than {MAX_NODES} values"
_TOO_LONG = f"must not have more than {MAX_SCALAR_CHARS} characters"
_SECRET_KEY = "must not have a name that secrets have; name the variable that holds it"  # noqa: S105
_SECRET = "must not look like a secret; name the variable that holds it"  # noqa: S105


class _Node(NamedTuple):
    path: str
    value: object
    depth: int


def find_bound_problems(tree: Mapping[str, object]) -> Iterator[TopologyProblem]:
    """All that is too long or secret in `tree`; the first that is too deep, or too many, ends it.

    Nothing here recurses, so that depth is a refusal and never a crash.
    """
    waiting, seen = [_Node("", tree, 1)], 0
    while waiting:
        node = waiting.pop()
        seen += 1
        if seen > MAX_NODES:
            yield TopologyProblem("", TopologyCode.DEPTH, _TOO_MANY)
            return
        if node.depth > MAX_DEPTH and isinstance(node.value, Mapping | list):
            yield TopologyProblem("", TopologyCode.DEPTH, _TOO_DEEP)
            return
        yield from _check_node(node)
        waiting += _inside(node)


def _inside(node: _Node) -> Iterator[_Node]:
    if isinstance(node.value, Mapping):
        for key, value in node.value.items():
            yield _Node(key_path(node.path, key), value, node.depth + 1)
    elif isinstance(node.value, list):
        for at, value in enumerate(node.value):
            yield _Node(f"{node.path}[{at}]", value, node.depth + 1)


def _check_node(node: _Node) -> Iterator[TopologyProblem]:
    if isinstance(node.value, Mapping):
        for key in node.value:
            if len(key) > MAX_SCALAR_CHARS:
                yield TopologyProblem(key_path(node.path, key), TopologyCode.VALUE, _TOO_LONG)
            if is_secret_name(key):
                path = key_path(node.path, key)
                yield TopologyProblem(path, TopologyCode.CREDENTIAL, _SECRET_KEY)
    elif isinstance(node.value, str):
        if len(node.value) > MAX_SCALAR_CHARS:
            yield TopologyProblem(node.path, TopologyCode.VALUE, _TOO_LONG)
        elif is_secret_value(node.value):
            yield TopologyProblem(node.path, TopologyCode.CREDENTIAL, _SECRET)
