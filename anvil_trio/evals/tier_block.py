"""The tier that follows from what was measured, ready to be pasted. Pure.

It is a proposal: whoever pastes it decides. Nothing here changes a configuration.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from anvil_trio.conform.verdict import Outcome, Result

__all__ = ["FALLBACK_CONTEXT", "gather_settings", "is_usable", "render_tier"]

FALLBACK_CONTEXT = 4096
"""What is written where an engine does not say its context; the block says so too."""

_NEEDED = ("identity", "unary", "stream")
_FALLBACK_NOTE = "  # the engine does not say; put its own context here"
_PLAIN_KEYS = ("health_path", "engine", "upstream_keepalive_s")


def gather_settings(results: Iterable[Result]) -> Mapping[str, JsonValue]:
    """The settings that follow, by key; tools count only if every check of them agrees."""
    found: dict[str, JsonValue] = {"tool_support": True}
    for result in results:
        settings = result.verdict.settings
        tools = found["tool_support"] and settings.get("tool_support", True)
        is_broken = result.name.startswith("tool_") and result.verdict.outcome is Outcome.FAILED
        found |= settings
        found["tool_support"] = bool(tools) and not is_broken
    return found


def is_usable(results: Iterable[Result]) -> bool:
    """Whether the engine does what no tier can do without."""
    bad = {one.name for one in results if one.verdict.outcome is not Outcome.PASSED}
    return not bad & set(_NEEDED)


def render_tier(
    results: Sequence[Result],
    *,
    base_url: str,
    model: str,
    dialect: str,
    auth_env: str,
    qualification_ref: str,
) -> str | None:
    """The `[[router.tiers]]` table; None for an engine that no tier could use."""
    if not is_usable(results):
        return None
    found = gather_settings(results)
    context = found.get("context_limit")
    limit = f"{FALLBACK_CONTEXT}{_FALLBACK_NOTE}" if context is None else f"{context}"
    lines = [
        "[[router.tiers]]",
        f"id = {_toml(model)}",
        f"dialect = {_toml(dialect)}",
        'privacy = "local"',
        f"tool_support = {_toml(found['tool_support'])}",
        f"auth_env = {_toml(auth_env)}",
        f"base_url = {_toml(base_url)}",
        f"model = {_toml(model)}",
        f"context_limit = {limit}",
        *(f"{key} = {_toml(found[key])}" for key in _PLAIN_KEYS if key in found),
    ]
    if "health_path" in found:  # an identity is asked for beside it only
        lines.append("model_identity = true")
    lines += [
        "# As a member of a replica tier this engine has the evidence:",
        f"# qualification_ref = {_toml(qualification_ref)}",
    ]
    return "\n".join(lines) + "\n"


def _toml(value: JsonValue) -> str:
    """A TOML value: JSON's own, which leaves only DEL to escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
