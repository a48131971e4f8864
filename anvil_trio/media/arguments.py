"""Arguments of a call: one list of what may be given, for reading and for the schema. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import JsonValue

from anvil_trio.operations.model import Submission

__all__ = [
    "ARTIFACT_ID",
    "JOB_ID",
    "SUBMISSION",
    "VALIDATION",
    "WORKFLOW",
    "Argument",
    "Fault",
    "read_arguments",
    "schema_of",
    "submission_of",
]

_UNASKED_KEY = "validate"
"""Stands for the key of a submission that is only checked and never made."""


class Form(StrEnum):
    """What an argument is made of."""

    TEXT = "string"
    TABLE = "object"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; text is never empty and has at most `max_length` characters."""

    name: str
    description: str
    form: Form = Form.TEXT
    is_required: bool = True
    max_length: int = 128


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the arguments. `name` is one of ours; None if a foreign one was given."""

    name: str | None


_WORKFLOW_ID = Argument("workflowId", "Which workflow: an id out of the list.")
_VERSION = Argument("version", "Which version of it.")
_ANY_VERSION = Argument("version", "Which version of it; by default the last.", is_required=False)
_PARAMETERS = Argument("parameters", "The workflow's parameters by name.", Form.TABLE)
_PROFILE = Argument(
    "qualityProfile",
    "A quality profile of the workflow; it locks the parameters that it names.",
    is_required=False,
)
_KEY = Argument(
    "idempotencyKey",
    "A key of the caller's choice, of letters, digits and `_.:-`: the same key with the same input"
    " is the same job.",
)
_OPTIONAL_KEY = replace(_KEY, is_required=False)

WORKFLOW: Sequence[Argument] = (_WORKFLOW_ID, _ANY_VERSION)
VALIDATION: Sequence[Argument] = (_WORKFLOW_ID, _VERSION, _PARAMETERS, _PROFILE, _OPTIONAL_KEY)
SUBMISSION: Sequence[Argument] = (_WORKFLOW_ID, _VERSION, _PARAMETERS, _KEY, _PROFILE)
JOB_ID: Sequence[Argument] = (Argument("jobId", "Which job."),)
ARTIFACT_ID: Sequence[Argument] = (Argument("artifactId", "Which artifact."),)


def schema_of(arguments: Sequence[Argument]) -> dict[str, JsonValue]:
    """The JSON schema of an object of these arguments."""
    properties: dict[str, JsonValue] = {one.name: _property(one) for one in arguments}
    required: list[JsonValue] = [one.name for one in arguments if one.is_required]
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    return schema


def _property(one: Argument) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {"type": one.form.value, "description": one.description}
    if one.form is Form.TEXT:
        shown |= {"minLength": 1, "maxLength": one.max_length}
    return shown


def read_arguments(given: Mapping[str, JsonValue], arguments: Sequence[Argument]) -> Fault | None:
    """What is wrong with what was given; None if it is as `schema_of` says."""
    if not given.keys() <= {one.name for one in arguments}:
        return Fault(None)
    for one in arguments:
        if one.name in given:
            if not _fits(given[one.name], one):
                return Fault(one.name)
        elif one.is_required:
            return Fault(one.name)
    return None


def _fits(value: JsonValue, one: Argument) -> bool:
    if one.form is Form.TABLE:
        return isinstance(value, dict)
    return isinstance(value, str) and 1 <= len(value) <= one.max_length


def submission_of(given: Mapping[str, JsonValue]) -> Submission:
    """The submission that these arguments make, which `read_arguments` has found to be right."""
    parameters, profile = given["parameters"], given.get("qualityProfile")
    assert isinstance(parameters, dict), "checked"
    assert profile is None or isinstance(profile, str), "checked"
    return Submission(
        workflow_id=str(given["workflowId"]),
        version=str(given["version"]),
        parameters=parameters,
        idempotency_key=str(given.get("idempotencyKey", _UNASKED_KEY)),
        quality_profile=profile,
    )
