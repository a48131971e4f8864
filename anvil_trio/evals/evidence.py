"""What was measured, as bytes whose digest names them. Pure.

Evidence says what was seen of one engine at one moment. It promotes nothing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from pydantic import JsonValue

from anvil_trio.conform.verdict import Result
from anvil_trio.names import is_qualification_ref

__all__ = ["EVIDENCE_SCHEMA", "Evidence", "make_evidence", "project_results"]

EVIDENCE_SCHEMA = "anvil-serving-preflight/v1"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Canonical JSON, and the name that its digest gives it: fit for a `qualification_ref`."""

    data: bytes
    sha256: str

    @property
    def name(self) -> str:
        """The name, which is the file's without its ending."""
        name = f"preflight-{self.sha256}"
        assert is_qualification_ref(name), "the grammar of names has changed"
        return name


def make_evidence(
    results: Sequence[Result], *, model: str, dialect: str, version: str, made_at: str
) -> Evidence:
    """The evidence of one run; `made_at` is when, as text. No address is in it, and no key."""
    document: dict[str, JsonValue] = {
        "schema": EVIDENCE_SCHEMA,
        "anvil_version": version,
        "made_at": made_at,
        "model": model,
        "dialect": dialect,
        "promotes": False,
        "checks": [*project_results(results)],
    }
    data = msgspec.json.encode(document, order="sorted") + b"\n"
    return Evidence(data, hashlib.sha256(data).hexdigest())


def project_results(results: Sequence[Result]) -> Sequence[dict[str, JsonValue]]:
    """Each check as JSON: name, outcome, reason, what was measured, what follows."""
    return [
        {
            "check": one.name,
            "outcome": one.verdict.outcome.value,
            "reason": one.verdict.reason,
            "facts": dict(one.verdict.facts),
            "settings": dict(one.verdict.settings),
        }
        for one in results
    ]
