"""What an operator orders: the body of an activation, checked. Pure.

It holds a digest and no path and no bytes: the router reads its own file, once, and takes it only
if it is the very file that was validated.
"""

import re
from dataclasses import dataclass

from anvil_trio.config.json_object import read_json_object
from anvil_trio.errors import Code, Problem, problem

__all__ = ["ActivationOrder", "parse_activation"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"sha256", "confirm", "dry_run"}


@dataclass(frozen=True, slots=True)
class ActivationOrder:
    """Which bytes are to be put to work; a dry run unless confirmed."""

    sha256: str
    is_dry_run: bool


def parse_activation(body: bytes) -> ActivationOrder | Problem:
    """The order that a body gives, or what is wrong with it in fixed words."""
    document = read_json_object(body)
    if document is None:
        return _invalid("The body must be one JSON object that names nothing twice.")
    if not document.keys() <= _FIELDS:
        return _invalid("The body has a member that this path does not take.")
    sha256 = document.get("sha256")
    if not isinstance(sha256, str) or _SHA256.fullmatch(sha256) is None:
        return _invalid("It must be 64 lower-case hexadecimal digits.", "sha256")
    for name in ("confirm", "dry_run"):
        if not isinstance(document.get(name, False), bool):
            return _invalid("It must be true or false.", name)
    is_confirmed = document.get("confirm", False) is True
    return ActivationOrder(sha256, is_dry_run=not is_confirmed or document.get("dry_run") is True)


def _invalid(message: str, param: str | None = None) -> Problem:
    return problem(Code.INVALID_REQUEST, message=message, param=param)
