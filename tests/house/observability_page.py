"""Writes what docs/observability.md and the golden files hold of the code's own replies.

`python -m tests.house.observability_page` rewrites the examples behind their markers, the schemas,
and tests/data/golden/openapi.json; a test compares them. Review the difference before it is kept.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from anvil_trio.names import Alias
from anvil_trio.views.anthropic_models import list_models
from anvil_trio.views.models import project_models
from anvil_trio.views.query import PARAMETERS, Kind, Parameter
from anvil_trio.views.shape import Shape
from anvil_trio.views.status import project_status
from anvil_trio.web.openapi import describe, schemas
from anvil_trio.web.replies import REPLIES
from anvil_trio.web.router import ROUTES
from tests.house.tree import ROOT
from tests.support.documented import PAGE, render_schemas
from tests.support.pages import pages
from tests.unit.views.samples import (
    DIRECT,
    DOWN,
    REPLICA,
    config,
    direct_snapshot,
    replica_snapshot,
    verdicts,
)

__all__ = ["EXAMPLE", "OPENAPI", "examples", "rendered"]

OPENAPI = ROOT / "tests" / "data" / "golden" / "openapi.json"
EXAMPLE = re.compile(r"(<!-- example: ([\w ]+) -->\n```json\n)(.*?)(```\n)", re.DOTALL)
_SCHEMAS = re.compile(r"(<!-- schemas:begin -->\n```text\n)(.*?)(```\n)", re.DOTALL)
_PARAMETERS = re.compile(
    r"(<!-- parameters:begin -->\n[^\n]*\n[^\n]*\n)(.*?)(<!-- parameters:end -->)", re.DOTALL
)
_WIDTH = 96
_PRIMARY = Alias("llm.primary")


def examples() -> Mapping[str, Shape | Mapping[str, Any]]:
    """What each example is: a whole reply, or the part of one that its text is about."""
    made, found = pages(), verdicts(b=DOWN)[0]
    busy = {REPLICA: replica_snapshot(2, 1, waiting=4), DIRECT: direct_snapshot()}
    [capacity_tier, direct] = made["capacity"].data  # type: ignore[attr-defined]
    return {
        "models": project_models(config(), found, only=_PRIMARY),
        "anthropic models": list_models(config(), found, only=_PRIMARY),
        "capacity": msgspec.structs.replace(made["capacity"], data=[direct]),
        "capacity tier": {"members": capacity_tier.members, "admission": capacity_tier.admission},
        "scenario": {"scenario": direct.scenario},
        "capabilities": _last(made["capabilities"]),
        "fingerprints": _last(made["fingerprints"]),
        "status": project_status(
            config(), busy, package_version="0.1.0", started_unix=1.7e9, now_unix=1.7e9 + 60
        ),
        "stats": made["stats"],
        "request": made["request"],
        "active requests": made["active requests"],
        "decisions": made["decisions"],
        "health tiers": made["health_tiers"],
        "workloads": made["workloads"],
    }


def rendered(page: str) -> str:
    """The page with its examples and schemas as the code makes them."""
    made = examples()
    page = EXAMPLE.sub(lambda found: f"{found[1]}{pretty(made[found[2]])}\n{found[4]}", page)
    page = _PARAMETERS.sub(lambda found: f"{found[1]}{parameters()}{found[3]}", page)
    text = render_schemas(schemas(one for shapes in REPLIES.values() for one in shapes))
    return _SCHEMAS.sub(lambda found: f"{found[1]}{text}{found[3]}", page)


def parameters() -> str:
    """The rows of the table of parameters."""
    paths = {route.name: route.path for route in ROUTES.values()}
    rows = [
        f"| `{paths[page]}` | `{one.name}` | {_values(one)} | {one.meaning} |\n"
        for page, table in PARAMETERS.items()
        for one in table
    ]
    return "".join(rows)


def _values(one: Parameter) -> str:
    if one.kind is not Kind.NUMBER:
        return ", ".join(f"`{word}`" for word in one.words) or one.kind.value
    usual = "" if one.usual is None else f"; {one.usual} if absent"
    return f"{one.least} to {one.most}{usual}"


def pretty(value: object) -> str:
    """JSON in which whatever fits on a line stands on one."""
    return _lines(msgspec.json.decode(msgspec.json.encode(value)), 0)


def _lines(value: Any, depth: int) -> str:
    flat = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    if len(flat) + depth <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    pad = "\n" + " " * (depth + 1)
    if isinstance(value, list):
        return "[" + ("," + pad).join(_lines(one, depth + 1) for one in value) + "]"
    entries = (f'"{key}": {_lines(one, depth + 1)}' for key, one in value.items())
    return "{" + ("," + pad).join(entries) + "}"


def _last(page: Shape) -> Shape:
    """The page with its last row alone: the direct tier's."""
    rows = page.data  # type: ignore[attr-defined]
    return msgspec.structs.replace(page, data=rows[-1:])


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    document = msgspec.json.encode(describe(frozenset()))
    OPENAPI.write_bytes(msgspec.json.format(document, indent=1) + b"\n")
