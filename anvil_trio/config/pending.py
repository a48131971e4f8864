"""Settings that are read and checked, and then refused, because nothing obeys them yet.

No key is ever accepted and ignored. A value equal to the default is accepted: it asks for nothing.
Whoever builds a behaviour deletes its line here.
"""

from collections.abc import Iterable, Iterator

from anvil_trio.config.problems import ConfigProblem, ProblemCode
from anvil_trio.config.table import Table

__all__ = [
    "PENDING_IN_SERVER",
    "find_pending",
    "not_available_yet",
]

PENDING_IN_SERVER = (
    "media_principal",
    "media_scopes",
    "media_public_origin",
)


def find_pending(table: Table, keys: Iterable[str]) -> Iterator[ConfigProblem]:
    """One problem for each of `keys` whose value is valid and asks for what does not exist."""
    for key in keys:
        value = table.get(key)
        if value is not None and value != table.defaults.get(key):
            yield not_available_yet(table.at(key))


def not_available_yet(path: str) -> ConfigProblem:
    """The problem of asking, at `path`, for what does not exist yet."""
    return ConfigProblem(path, ProblemCode.NOT_AVAILABLE_YET, "is not available yet")
