"""The values behind the names of environment variables: how `.env` is read, and who is asked first.

A configuration only names its secrets. Nothing here opens a file; `load.py` does.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from anvil_trio.config.media import MediaSettings
from anvil_trio.config.policy import ClientCredential

__all__ = ["Secrets", "look_up", "parse_env"]

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'([^']*)'\s*(?:#.*)?", re.DOTALL)
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\$`])')
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


class Secrets:
    """Resolved secrets by the name of their variable, and the clients of the authorization policy.

    Beside them stands where the operation service keeps its own, which the environment says too.
    Neither `repr` nor an error shows one.
    """

    __slots__ = ("_values", "clients", "media")

    def __init__(
        self,
        values: Mapping[str, str],
        clients: tuple[ClientCredential, ...] = (),
        media: MediaSettings | None = None,
    ) -> None:
        self._values = MappingProxyType(dict(values))
        self.clients = clients
        self.media = media

    def get(self, name: str) -> str | None:
        """The secret of that name, which is never empty; None if the variable is not set."""
        return self._values.get(name)


def parse_env(text: str) -> dict[str, str]:
    """The assignments of a `.env` file; of two with one name the later one counts.

    A line is `NAME=value`, with an optional `export` before it. A value may stand in single quotes
    (as it is) or in double quotes (a backslash keeps `"`, a backslash, `$` and a backtick); without
    quotes it ends before a `#` that follows a blank. Every other line is passed over.
    """
    found = dict[str, str]()
    for line in text.split("\n"):
        assignment = _ASSIGNMENT.fullmatch(line.strip())
        if assignment is not None:
            found[assignment[1]] = _unquoted(assignment[2])
    return found


def look_up(name: str, sources: Iterable[Mapping[str, str]]) -> str | None:
    """The trimmed value of `name` in the first source that names it, even if it is empty there."""
    for source in sources:
        if name in source:
            return source[name].strip()
    return None


def _unquoted(value: str) -> str:
    single = _SINGLE_QUOTED.fullmatch(value)
    if single is not None:
        return single[1]
    double = _DOUBLE_QUOTED.fullmatch(value)
    if double is not None:
        return _ESCAPED.sub(r"\1", double[1])
    return _COMMENT.sub("", value)
