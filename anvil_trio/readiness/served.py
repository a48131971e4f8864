"""What an upstream-owned tier's one engine says that it serves: adopted whole, or not at all. Pure.

Such a tier's configuration names no model and no context; its engine does. An answer that leaves
anything open makes the tier unready: the router never guesses which of two models is meant, and
never lets a prompt through by a context that nobody stated.
"""

import re
from dataclasses import dataclass

import msgspec

from anvil_trio.facts import Answer, Served, Silence, Verdict
from anvil_trio.readiness.verdict import Finding, refuse_answer, unready

__all__ = ["Named", "judge_served", "read_named", "read_props"]

_REASON = "upstream_metadata_"
# A model's public name: no path from the root of a disk, no blanks, nothing that needs quoting.
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+@-]{0,255}")
_MAX_CONTEXT = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Named:
    """The one model that an engine lists, with its context if the list says it."""

    model: str
    context_limit: int | None


class _Model(msgspec.Struct):
    id: str
    max_model_len: int | None = None
    max_context_length: int | None = None
    context_length: int | None = None


class _Models(msgspec.Struct):
    data: list[_Model]


class _Generation(msgspec.Struct):
    n_ctx: int | None = None


class _Props(msgspec.Struct):
    default_generation_settings: _Generation | None = None
    model_alias: str | None = None


def read_named(said: Answer | Silence) -> Named | Finding:
    """The model of `/v1/models`, or why there is not exactly one with a usable name."""
    body = refuse_answer(said)
    if isinstance(body, Finding):
        return body
    try:
        models = msgspec.json.decode(body, type=_Models).data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return unready("identity_malformed")
    if len(models) != 1:
        return unready(f"{_REASON}model_count")
    [model] = models
    if _MODEL.fullmatch(model.id) is None:
        return unready(f"{_REASON}model_invalid")
    stated = (model.max_model_len, model.max_context_length, model.context_length)
    return Named(model.id, next((number for number in stated if number is not None), None))


def read_props(said: Answer | Silence, model: str) -> int | Finding | None:
    """The context in llama.cpp's `/props`; None if that page is not there or does not say it."""
    body = refuse_answer(said)
    if isinstance(body, Finding):
        return body if isinstance(said, Silence) else None
    try:
        props = msgspec.json.decode(body, type=_Props)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return unready("identity_malformed")
    if props.model_alias and props.model_alias != model:
        return unready(f"{_REASON}identity_mismatch")
    settings = props.default_generation_settings
    return None if settings is None else settings.n_ctx


def judge_served(model: str, context_limit: int | None, max_output_tokens: int | None) -> Finding:
    """Ready with what is adopted, or why it cannot be."""
    if context_limit is None or not 0 < context_limit <= _MAX_CONTEXT:
        return unready(f"{_REASON}context_missing")
    if max_output_tokens is not None and max_output_tokens > context_limit:
        return unready(f"{_REASON}output_limit_conflict")
    return Finding(
        Verdict(
            is_ready=True,
            reason=f"{_REASON}passed",
            observed_model=model,
            served=Served(model, context_limit),
        )
    )
