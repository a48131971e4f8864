"""The JSON shape of speech that names a route, or a purpose whose default is meant."""

from collections.abc import Mapping

import msgspec

from anvil_trio.dialects.raw_json import is_given
from anvil_trio.errors import Problem
from anvil_trio.purpose.asks import invalid
from anvil_trio.purpose.json_body import read_text

__all__ = ["find_route", "read_choice"]


def find_route(members: Mapping[str, msgspec.Raw], purpose: str) -> str | Problem | None:
    """The route that is named; None where `purpose` is, which must be the path's own."""
    given = [name for name in ("route", "purpose") if name in members]
    if len(given) != 1:
        return invalid("route", "Give either `route` or `purpose`.")
    said = read_text(members, given[0])
    if isinstance(said, Problem) or given == ["route"]:
        return said
    return None if said == purpose else invalid("purpose", f"`purpose` must be {purpose} here.")


def read_choice(
    members: Mapping[str, msgspec.Raw], name: str, choices: tuple[str, ...], default: str | None
) -> str | Problem:
    """A member that is one of these words; `default` where it is not given, if there is one."""
    if default is not None and not is_given(members.get(name, msgspec.Raw(b"null"))):
        return default
    said = read_text(members, name)
    if isinstance(said, str) and said in choices:
        return said
    return invalid(name, f"`{name}` must be one of: {', '.join(choices)}.")
