"""`GET /v1/models/capacity`: what each tier has to give now."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import Alias, TierId
from anvil_trio.views.admission import Admission, Snapshots, project_admission
from anvil_trio.views.declared import Declared, declared
from anvil_trio.views.readiness import ReadyState, VerdictOf
from anvil_trio.views.replica import (
    DeclaredIdentity,
    Declares,
    Member,
    ShownTier,
    Verified,
    show_tier,
)
from anvil_trio.views.scenario import NOT_ASKED, Scenario, Sizes, project_scenario
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape
from anvil_trio.views.signals import Live, SignalOf, add_pressure, project_live
from anvil_trio.views.tiers import TierRow, rows_of

__all__ = ["CapacityPage", "CapacityQuery", "CapacityRow", "project_capacity"]


class TierReadiness(Shape, frozen=True, kw_only=True):
    """Whether work is taken, and why or why not; `loaded` stands beside it."""

    state: ReadyState
    reason: str


class Engine(Shape, frozen=True, kw_only=True):
    """What the operator declares of the engine."""

    name: str | None
    quantization: str | None


class Gpu(Shape, frozen=True, kw_only=True):
    """What the operator declares of the device; null for a replica tier."""

    role: str | None
    name: str | None
    memory_total_mib: int | float | None


class Capacity(Shape, frozen=True, kw_only=True):
    """The limits that were configured or declared; the cache's are null for a replica tier."""

    context_limit_tokens: Count | None
    kv_cache_capacity_tokens: Count | None
    full_context_concurrency: Count | None
    configured_max_concurrency: Count | None
    scheduler_max_num_seqs: Count | None
    model_memory_gib: int | float | None


class Multimodal(Shape, frozen=True, kw_only=True):
    """What is declared of images and videos; `admission_enabled` says that it binds."""

    admission_enabled: bool
    image_limit: Count | None
    video_limit: Count | None
    image_tokens_estimate: Count | None
    video_tokens_estimate: Count | None


class CapacityRow(Shape, frozen=True, kw_only=True):
    """One tier's capacity; a replica tier's has the last four keys."""

    object: Literal["model_capacity"] = "model_capacity"
    id: str
    aliases: list[str]
    model: str | None
    loaded: bool
    readiness: TierReadiness
    engine: Engine
    gpu: Gpu
    capacity: Capacity
    multimodal: Multimodal
    live: Live
    scenario: Scenario | None
    admission: Admission
    members: list[Member] | Absent = ABSENT
    replica_identity: DeclaredIdentity | Absent | None = ABSENT
    deployment_identity_source: Declares | Absent = ABSENT
    runtime_deployment_identity_verified: Verified | Absent = ABSENT


class CapacityPage(Shape, frozen=True, kw_only=True):
    """One row per tier."""

    object: Literal["list"] = "list"
    data: list[CapacityRow]


@dataclass(frozen=True, slots=True)
class CapacityQuery:
    """Which rows, and for which request; `gpu_role` leaves the tiers that declare that role."""

    only: Alias | None = None
    gpu_role: str | None = None
    sizes: Sizes = NOT_ASKED


_EVERYTHING = CapacityQuery()


def project_capacity(
    config: RouterConfig,
    verdict_of: VerdictOf,
    snapshots: Snapshots,
    signal_of: SignalOf,
    asked: CapacityQuery = _EVERYTHING,
) -> CapacityPage:
    """One row per tier, in the order of the file.

    The counts are reservations, not throughput: nothing is inferred from them (T005.1). What the
    engines say was read before; no engine is asked.
    """
    rows = [
        _row(one, show_tier(one.tier, verdict_of), snapshots, signal_of, asked.sizes)
        for one in _wanted(config, asked)
    ]
    return CapacityPage(data=rows)


def _wanted(config: RouterConfig, asked: CapacityQuery) -> Iterator[TierRow]:
    for one in rows_of(config, asked.only):
        if asked.gpu_role is None or _gpu(one.tier).role == asked.gpu_role:
            yield one


def _row(
    one: TierRow, shown: ShownTier, snapshots: Snapshots, signal_of: SignalOf, sizes: Sizes
) -> CapacityRow:
    tier, replica = shown.tier, shown.projection
    return CapacityRow(
        id=tier.id,
        aliases=one.aliases,
        model=tier.model,
        loaded=shown.readiness.is_ready,
        readiness=TierReadiness(state=shown.readiness.state, reason=shown.readiness.reason),
        engine=Engine(name=tier.engine, quantization=tier.quantization),
        gpu=_gpu(tier),
        capacity=_capacity(tier),
        multimodal=_multimodal(tier, declared(tier, "capacity")),
        live=project_live(tier, signal_of),
        scenario=project_scenario(tier, sizes),
        admission=project_admission(tier, snapshots.get(TierId(tier.id))),
        members=_with_pressures(tier, replica.members, signal_of),
        replica_identity=replica.replica_identity,
        deployment_identity_source=replica.deployment_identity_source,
        runtime_deployment_identity_verified=replica.runtime_deployment_identity_verified,
    )


def _gpu(tier: Tier) -> Gpu:
    """One device is declared for a tier, so nothing can be said of several members'."""
    said = Declared(None) if tier.is_replica else declared(tier, "capacity")
    return Gpu(
        role=said.text("gpu_role"),
        name=said.text("gpu_name"),
        memory_total_mib=said.number("gpu_memory_total_mib"),
    )


def _capacity(tier: Tier) -> Capacity:
    said = declared(tier, "capacity")
    cache = None if tier.is_replica else said.count("kv_cache_capacity_tokens")
    context = tier.context_limit
    return Capacity(
        context_limit_tokens=context,
        kv_cache_capacity_tokens=cache,
        full_context_concurrency=cache // context if cache is not None and context else None,
        configured_max_concurrency=tier.ceiling,
        scheduler_max_num_seqs=said.count("scheduler_max_num_seqs"),
        model_memory_gib=said.number("model_memory_gib"),
    )


def _multimodal(tier: Tier, said: Declared) -> Multimodal:
    return Multimodal(
        admission_enabled=tier.media_policy is not None,
        image_limit=said.count("image_limit"),
        video_limit=said.count("video_limit"),
        image_tokens_estimate=said.count("image_tokens_estimate"),
        video_tokens_estimate=said.count("video_tokens_estimate"),
    )


def _with_pressures(
    tier: Tier, rows: list[Member] | Absent, signal_of: SignalOf
) -> list[Member] | Absent:
    """A capacity tier's members with what they are ranked by; their order is `member_ids`."""
    if not tier.is_capacity or not isinstance(rows, list):
        return rows
    pairs = zip(tier.member_ids, rows, strict=True)
    return [add_pressure(row, signal_of(TierId(tier.id), one)) for one, row in pairs]
