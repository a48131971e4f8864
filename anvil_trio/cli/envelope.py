"""What a command says in JSON: one object, the same keys whatever happened."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from pydantic import JsonValue

from anvil_trio.cli.exits import Exit

__all__ = ["CommandFailed", "Failure", "render_envelope"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command is no success: a class, a code and fixed words, never an argument (R012)."""

    status: Exit
    code: str
    message: str


class CommandFailed(Exception):  # noqa: N818 - named by what happened, as trio does
    """A command ended before it had an answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


def render_envelope(
    command: str,
    data: JsonValue,
    failure: Failure | None = None,
    warnings: Sequence[str] = (),
) -> str:
    """One line of JSON about a command that has ended, its keys sorted.

    `data` is what was found out, or null; `warnings` are codes.
    """
    error: JsonValue = None
    if failure is not None:
        error = {
            "class": failure.status.name.lower(),
            "code": failure.code,
            "message": failure.message,
            "details": {},
        }
    envelope: dict[str, JsonValue] = {
        "ok": failure is None,
        "command": command,
        "context": None,
        "data": data,
        "warnings": [*warnings],
        "error": error,
    }
    return msgspec.json.encode(envelope, order="sorted").decode()
