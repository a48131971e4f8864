"""The tables of a workflow registry: which keys each may have, and each key's own rule. Pure."""

import re
from typing import Annotated, Literal

from anvil_trio.config.fields import Flag, JsonTable, VersionLabel
from anvil_trio.config.kinds import Choice, kind, must, whole
from anvil_trio.config.model import Frozen
from anvil_trio.operations.model import Kind
from anvil_trio.operations.signatures import MEDIA_TYPES

__all__ = ["LISTS", "ParameterRow", "ProfileRow", "RegistryRow", "WorkflowRow"]

LISTS = {"workflows": 64, "parameters": 32, "quality_profiles": 8}
"""How many rows each array of tables may have."""

MAX_TEXT = 20_000
_MAX_CHOICES = 64
_MAX_TITLE = 200
_MAX_WORDS = 2000
_WORKFLOW = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_NAME = re.compile(r"[a-z][A-Za-z0-9_]{0,63}")
_GRAPH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TARGET = re.compile(r"[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64}")
_EXACT = 2**53 - 1


def _is_workflow(text: str) -> bool:
    return _WORKFLOW.fullmatch(text) is not None


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _is_graph(text: str) -> bool:
    return _GRAPH.fullmatch(text) is not None


def _is_target(text: str) -> bool:
    return _TARGET.fullmatch(text) is not None


def _is_title(text: str) -> bool:
    return 0 < len(text) <= _MAX_TITLE and text.isprintable()


def _is_description(text: str) -> bool:
    return len(text) <= _MAX_WORDS


def _is_bound(value: float) -> bool:
    return -_EXACT <= value <= _EXACT


def _choices_fault(values: tuple[object, ...]) -> str | None:
    if not 0 < len(values) <= _MAX_CHOICES:
        return f"must have 1 to {_MAX_CHOICES} values"
    if len({(type(value), value) for value in values}) < len(values):
        return "must not have a value twice"
    return None


Title = Annotated[str, must(f"must be printable text of 1 to {_MAX_TITLE} characters", _is_title)]
Description = Annotated[
    str, must(f"must be text of at most {_MAX_WORDS} characters", _is_description)
]
Name = Annotated[str, must("must match [a-z][A-Za-z0-9_]{0,63}", _is_name)]
Bound = Annotated[float, must("must be a number of at most 53 bits", _is_bound)]
_SCALAR = "must be text, a number, true or false"
Value = Annotated[str | int | float | bool, kind(_SCALAR, lambda _: None)]
Choices = Annotated[
    tuple[str | int | float | bool, ...],
    kind("must be an array of texts, numbers, true and false", _choices_fault),
]


class RegistryRow(Frozen):
    """The registry itself."""

    schema_version: Annotated[int, whole(1, 1)]
    workflows: object = ()


class WorkflowRow(Frozen):
    """One `[[workflows]]`."""

    id: Annotated[str, must("must match [a-z][a-z0-9._-]{0,63}", _is_workflow)]
    version: VersionLabel
    title: Title
    description: Description = ""
    output_media_type: Annotated[Literal["image/png", "video/mp4"], Choice()] = "image/png"
    requires_approval: Flag = False
    graph: Annotated[
        str, must("must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}, a file beside this", _is_graph)
    ] = ""
    parameters: object = ()
    quality_profiles: object = ()


class ParameterRow(Frozen):
    """One `[[workflows.parameters]]`."""

    name: Name
    kind: Annotated[Kind, Choice()]
    required: Flag = False
    default: Value | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None
    choices: Choices = ()
    max_length: Annotated[int, whole(1, MAX_TEXT)] | None = None
    description: Description = ""
    target: Annotated[str, must("must be a node and its input: NODE.INPUT", _is_target)] = ""


class ProfileRow(Frozen):
    """One `[[workflows.quality_profiles]]`."""

    id: Name
    title: Title
    locked: JsonTable


assert set(MEDIA_TYPES) == {"image/png", "video/mp4"}, "one list, in two places"
