"""`[[router.tiers]]`: a direct endpoint or replicas, and the policy that all members share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from anvil_trio.config.fields import Flag, TierCeiling
from anvil_trio.config.kinds import Choice
from anvil_trio.config.model import Compat, Tier, TierSettings
from anvil_trio.config.params import (
    Params,
    find_params_problems,
    make_media_policy,
    read_params,
)
from anvil_trio.config.problems import ConfigProblem
from anvil_trio.config.replicas import (
    Replicas,
    find_replica_problems,
    make_identity,
    make_members,
    read_replicas,
)
from anvil_trio.config.table import Table, read_table
from anvil_trio.config.tier_rules import find_conflicts

__all__ = ["TierTables", "find_tier_problems", "make_tier", "read_tier"]

_TABLES = frozenset({"replicas", "replica_identity", "compat"})
_AUTO = "auto"


class _TierTable(TierSettings):
    max_concurrency: TierCeiling | None = None  # `auto` is read beside the table
    strip_reasoning_history: Flag | None = None


class _CompatTable(Compat):
    # A file says "as_sent" as `strip_reasoning_history = false`.
    reasoning_history: Annotated[Literal["drop", "reasoning_content", "reasoning"], Choice()] = (
        "drop"
    )


@dataclass(frozen=True, slots=True)
class TierTables:
    """What the file says of one tier."""

    table: Table
    params: Params
    replicas: Replicas | None
    compat: Table | None

    @property
    def is_auto(self) -> bool:
        """Whether the ceiling is the engine's to say, which only a direct tier may ask."""
        return self.replicas is None and self.table.raw.get("max_concurrency") == _AUTO


def read_tier(raw: object, path: str) -> TierTables:
    """One tier, each of its keys and tables checked by itself."""
    elsewhere = set(_TABLES)
    if isinstance(raw, dict) and "replicas" not in raw and raw.get("max_concurrency") == _AUTO:
        elsewhere.add("max_concurrency")
    table = read_table(_TierTable, raw, path, elsewhere=elsewhere)
    return TierTables(
        table=table,
        params=read_params(table),
        replicas=read_replicas(table) if table.has("replicas") else None,
        compat=read_table(_CompatTable, table.raw["compat"], table.at("compat"))
        if table.has("compat")
        else None,
    )


def find_tier_problems(tier: TierTables) -> Iterator[ConfigProblem]:
    """All that is wrong with one tier."""
    yield from tier.table.problems
    if not tier.table.is_table:
        return
    yield from find_conflicts(tier.table, tier.params)
    yield from find_params_problems(tier.params)
    if tier.compat is not None:
        yield from tier.compat.problems
    if tier.replicas is not None:
        yield from find_replica_problems(tier.replicas)


def make_tier(tier: TierTables) -> Tier:
    """The tier that tables without problems describe."""
    values = tier.table.only(TierSettings.model_fields)
    if tier.is_auto:
        values["max_concurrency"] = _AUTO
    if tier.replicas is not None:
        values["replicas"] = make_members(tier.replicas)
        values["replica_identity"] = make_identity(tier.replicas)
    values["media_policy"] = make_media_policy(tier.params)
    values["compat"] = _make_compat(tier)
    return Tier.model_validate(values)


def _make_compat(tier: TierTables) -> Compat:
    values = {} if tier.compat is None else dict(tier.compat.raw)
    is_stripped = tier.table.get("strip_reasoning_history")
    if is_stripped is not None:
        values["reasoning_history"] = "drop" if is_stripped else "as_sent"
    return Compat.model_validate(values)
