"""What a caller may ask of a workflow: every parameter checked, none invented. Pure."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from anvil_trio.operations.ids import is_artifact_id, is_idempotency_key
from anvil_trio.operations.model import (
    Kind,
    Parameter,
    QualityProfile,
    Refusal,
    RefusalCode,
    Scalar,
    Submission,
    Workflow,
)

__all__ = ["Inputs", "check_inputs", "fits"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What will be run, complete, and the digest of what the caller said.

    `artifacts` names the parameters whose values are the caller's own artifacts. Two submissions
    have one digest only if they say the same: a default spelled out is something said.
    """

    values: Mapping[str, Scalar] = field(repr=False)
    artifacts: tuple[str, ...]
    digest: str


def check_inputs(submission: Submission, workflow: Workflow) -> Inputs | Refusal:
    """The inputs of a run of `workflow`, or the first fault in the registry's order."""
    if not is_idempotency_key(submission.idempotency_key):
        return Refusal(RefusalCode.IDEMPOTENCY_KEY_INVALID)
    profile = _profile(submission.quality_profile, workflow)
    if isinstance(profile, Refusal):
        return profile
    if not submission.parameters.keys() <= {each.name for each in workflow.parameters}:
        return Refusal(RefusalCode.PARAMETER_UNKNOWN)
    given, values = dict[str, Scalar](), dict[str, Scalar]()
    for parameter in workflow.parameters:
        found = _value(parameter, submission.parameters, profile.locked)
        if isinstance(found, Refusal):
            return found
        if found is not None:
            values[parameter.name] = found
            if parameter.name in submission.parameters:
                given[parameter.name] = found
    artifacts = [each.name for each in workflow.parameters if each.kind is Kind.ARTIFACT]
    return Inputs(
        values,
        tuple(name for name in artifacts if name in values),
        _digest(given, submission.quality_profile),
    )


def fits(parameter: Parameter, value: object) -> bool:
    """Whether `value` obeys all that the registry says of the parameter."""
    is_of = _IS_OF[parameter.kind]
    if not is_of(value):
        return False
    if parameter.choices:
        return any(value == choice and is_of(choice) for choice in parameter.choices)
    if isinstance(value, str):
        return parameter.max_length is None or len(value) <= parameter.max_length
    assert isinstance(value, int | float), "what is no text is a number or a truth"
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    return low <= value <= high


def _profile(name: str | None, workflow: Workflow) -> QualityProfile | Refusal:
    if name is None:
        return QualityProfile("", "")
    for profile in workflow.quality_profiles:
        if profile.id == name:
            return profile
    return Refusal(RefusalCode.UNKNOWN_QUALITY_PROFILE)


def _value(
    parameter: Parameter, given: Mapping[str, object], locked: Mapping[str, Scalar]
) -> Scalar | Refusal | None:
    """What the parameter will be; None where it is optional and nobody says anything."""
    name = parameter.name
    if name in given:
        if name in locked:
            return Refusal(RefusalCode.PARAMETER_LOCKED, name)
        value = given[name]
        if not fits(parameter, value):
            return Refusal(RefusalCode.PARAMETER_INVALID, name)
        assert isinstance(value, str | int | float), "what fits is a scalar"
        return _plain(parameter, value)
    fixed = locked.get(name, parameter.default)
    if fixed is None:
        return Refusal(RefusalCode.PARAMETER_REQUIRED, name) if parameter.required else None
    return _plain(parameter, fixed)


def _plain(parameter: Parameter, value: Scalar) -> Scalar:
    """One spelling for one number, so that 1 and 1.0 have one digest."""
    return float(value) if parameter.kind is Kind.NUMBER else value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    """Half a surrogate pair is no text: neither the database nor the backend could be told it."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _is_artifact(value: object) -> bool:
    return isinstance(value, str) and is_artifact_id(value)


_IS_OF: Mapping[Kind, Callable[[object], bool]] = {
    Kind.STRING: _is_text,
    Kind.INTEGER: _is_integer,
    Kind.NUMBER: _is_number,
    Kind.BOOLEAN: _is_truth,
    Kind.ARTIFACT: _is_artifact,
}


def _digest(given: Mapping[str, Scalar], profile: str | None) -> str:
    said = msgspec.json.encode({"parameters": given, "quality_profile": profile}, order="sorted")
    return hashlib.sha256(said).hexdigest()
