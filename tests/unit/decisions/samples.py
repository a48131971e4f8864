"""Tiers, builders and records to test with; a test names only what it is about."""

from anvil_trio.config.model import ReplicaMember, Tier
from anvil_trio.decisions.builder import CallerIds, RecordBuilder
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import (
    AttemptReason,
    Ending,
    RequestKind,
    WorkloadOutcome,
)
from anvil_trio.facts import Freshness, MemberScore, Schedule
from anvil_trio.names import Alias, ClientId, MemberId, RequestId

GATEWAY_ID = RequestId("req_0123456789abcdef0123456789abcdef")
ALIAS = Alias("llm.primary")

SERVED = Ending(WorkloadOutcome.SUCCESS, AttemptReason.SERVED)
BACKEND_ERROR = Ending(WorkloadOutcome.ERROR, AttemptReason.BACKEND_ERROR)
LEFT = Ending(WorkloadOutcome.DISCONNECTED, AttemptReason.CLIENT_DISCONNECTED)
REJECTED = Ending(WorkloadOutcome.REJECTED, refusal=AttemptReason.OVER_CONTEXT)
UNAVAILABLE = Ending(WorkloadOutcome.REJECTED, refusal=AttemptReason.UNAVAILABLE)


def direct_tier() -> Tier:
    """One endpoint under the id `primary`."""
    return Tier(id="primary", auth_env="KEY", base_url="http://127.0.0.1:1/v1", model="served")


def replica_tier() -> Tier:
    """Two replicas, `member-a` and `member-b`, under the id `primary`."""
    members = tuple(
        ReplicaMember(
            id=name,
            base_url=f"http://127.0.0.1:{port}/v1",
            host_id="host-a",
            resource_id=f"gpu-{port}",
            qualification_ref=f"qual:{port}",
        )
        for port, name in enumerate(("member-b", "member-a"), 1)
    )
    return Tier(id="primary", auth_env="KEY", replicas=members, model="served")


def capacity_tier() -> Tier:
    """The same two, ranked by how full they are."""
    tier = replica_tier()
    members = tuple(one.model_copy(update={"max_concurrency": 4}) for one in tier.replicas)
    return tier.model_copy(update={"replicas": members, "replica_strategy": "capacity"})


def schedule(*, is_affinity_hit: bool | None = None) -> Schedule:
    """How `member-a` was chosen before `member-b`, whose engine had not been heard of lately."""
    return Schedule(
        MemberId("member-a"),
        (
            MemberScore(MemberId("member-a"), 1, 4, Freshness.FRESH, 250_000, 1),
            MemberScore(MemberId("member-b"), 1, 4, Freshness.STALE, 0, 0),
        ),
        is_affinity_hit,
    )


def ranked_record(*, is_affinity_hit: bool | None = None) -> DecisionRecord:
    """The record of a request whose member was chosen by that schedule."""
    made = builder(capacity_tier())
    made.asked_at = 10.5
    made.selected(MemberId("member-a"), 10.5, schedule(is_affinity_hit=is_affinity_hit))
    return finished(made)


def builder(tier: Tier | None = None, *, caller: CallerIds | None = None) -> RecordBuilder:
    """A request that began at trio time 10 and wall time 1000; routed to `tier` if one is given."""
    made = RecordBuilder(
        gateway_request_id=GATEWAY_ID,
        started_at=10.0,
        created_unix=1000.0,
        client_id=ClientId("_legacy"),
        caller=CallerIds() if caller is None else caller,
        config_sha256="c" * 64,
        router_version="0.1.0",
    )
    if tier is not None:
        made.routed(ALIAS, tier)
    return made


def finished(made: RecordBuilder, ending: Ending = SERVED) -> DecisionRecord:
    """The record of a request that ended two seconds after it began."""
    return made.finish(ending, now=12.0, unix_ts=1002.0)


def record(gateway_request_id: str = GATEWAY_ID, request_id: str | None = None) -> DecisionRecord:
    """The least that a record can say."""
    return DecisionRecord(
        kind=RequestKind.CHAT,
        route=ALIAS,
        unix_ts=1002.0,
        workload_created_at=1000.0,
        workload_updated_at=1002.0,
        workload_outcome=WorkloadOutcome.SUCCESS,
        gateway_request_id=gateway_request_id,
        latency_ms=2000,
        request_id=request_id,
    )
