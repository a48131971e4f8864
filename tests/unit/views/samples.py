"""A configuration with a canary in every private place, and the facts that go with it."""

import msgspec

from anvil_trio.config.model import (
    MediaPolicy,
    ReplicaIdentity,
    ReplicaMember,
    RouterConfig,
    RouterSettings,
    ServerSettings,
    Tier,
)
from anvil_trio.facts import (
    Freshness,
    MemberSnapshot,
    Pressure,
    TierPhase,
    TierSnapshot,
    Verdict,
)
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.signals.engines import Observation, SignalState
from anvil_trio.signals.freshness import Signal

CANARY = "kanarie"
"""Stands in every string that no page may show; `canary` makes them distinct."""

PASSED = Verdict(is_ready=True, reason="identity_passed", observed_model="served-model")
DOWN = Verdict(is_ready=False, reason="health_transport")
OPEN = Verdict(is_ready=True, reason="availability_not_configured")

REPLICA, DIRECT = TierId("replicas"), TierId("direct")
A, B = MemberId("member-a"), MemberId("member-b")


def canary(place: str) -> str:
    """A distinctive text for one private place."""
    return f"{CANARY}-{place}"


def read(page):
    """A page as its reader gets it."""
    return msgspec.json.decode(msgspec.json.encode(page))


def member(name: str) -> ReplicaMember:
    """One replica whose URL, host and resource are private."""
    return ReplicaMember(
        id=name,
        base_url=f"http://{canary('url')}-{name}:8000/v1",
        host_id=canary("host"),
        resource_id=canary(f"resource-{name}"),
        qualification_ref=f"qual:{name}",
        max_concurrency=4,
    )


def replica_tier() -> Tier:
    """Two replicas, declared out of order, with every descriptive key filled."""
    return Tier(
        id=REPLICA,
        auth_env=canary("env").upper().replace("-", "_"),
        replicas=(member(B), member(A)),
        replica_identity=ReplicaIdentity(
            model_revision="rev-1",
            engine_version="0.1.0",
            image_digest="sha256:" + "0" * 64,
            config_fingerprint="sha256:" + "1" * 64,
        ),
        context_limit=8192,
        model="served-model",
        health_path=f"/{canary('health')}",
        model_identity=True,
        max_concurrency=6,
        max_output_tokens=1024,
        extra_body={"extra": canary("extra")},
        extra_body_defaults={"fill": canary("fill")},
        params={
            "note": canary("param"),
            "capabilities": {"images_per_request": 2, "note": canary("capability")},
        },
        media_policy=MediaPolicy(
            image_limit=2, video_limit=0, image_tokens_estimate=100, video_tokens_estimate=0
        ),
    )


def direct_tier() -> Tier:
    """One endpoint and no probe."""
    return Tier(
        id=DIRECT,
        auth_env=canary("env2").upper().replace("-", "_"),
        base_url=f"http://{canary('direct')}:8000/v1",
        context_limit=4096,
        model="other-model",
        params={"capabilities": {"video_per_request": True, "images_per_request": -1}},
    )


def config() -> RouterConfig:
    """Two tiers behind three aliases; the replica tier has two of them."""
    return RouterConfig(
        server=ServerSettings(
            auth_env=canary("token").upper().replace("-", "_"),
            decision_log_path=f"/{canary('log')}",
            tls_keyfile=f"/{canary('key')}",
            tls_certfile=f"/{canary('cert')}",
        ),
        router=RouterSettings(),
        tiers=(replica_tier(), direct_tier()),
        routes={"llm.primary": REPLICA, "chat": DIRECT, "llm.again": REPLICA},
        source=canary("source").encode(),
        sha256="d" * 64,
    )


def capacity_config() -> RouterConfig:
    """The same, with members that are ranked by how full they are."""
    tier = replica_tier().model_copy(update={"replica_strategy": "capacity"})
    return config().model_copy(update={"tiers": (tier, direct_tier())})


def busy_engine(tier_id, member_id):
    """Every engine was read just now, and is busy."""
    return Signal(
        Pressure(Freshness.FRESH, 375_000),
        Observation(
            requests_running=3,
            requests_waiting=0,
            kv_cache_usage_fraction=0.25,
            generation_tokens_total=1200,
            requests_state=SignalState.VALID,
            kv_state=SignalState.VALID,
        ),
    )


def ranked_engines(tier_id, member_id):
    """Member a was read just now; member b hangs."""
    if member_id == A:
        return busy_engine(tier_id, member_id)
    return Signal(Pressure(Freshness.FAILED), reason="metrics_transport")


def verdicts(a=PASSED, b=PASSED, direct=OPEN):
    """What the prober last found, and the list of what it was asked."""
    found = {(REPLICA, A): a, (REPLICA, B): b, (DIRECT, DIRECT_MEMBER): direct}
    asked = []

    def verdict_of(tier_id, member_id):
        asked.append((tier_id, member_id))
        return found[tier_id, member_id]

    return verdict_of, asked


def member_snapshot(name, active=0, *, is_quiesced=False, is_draining=False):
    """One member's counters."""
    return MemberSnapshot(
        member_id=name,
        active=active,
        max_concurrency=4,
        is_quiesced=is_quiesced,
        is_draining=is_draining,
        is_eligible=True,
    )


def replica_snapshot(a=0, b=0, **changed):
    """The replica tier's counters; `changed` names what a test is about."""
    facts = {
        "tier_id": REPLICA,
        "phase": TierPhase.ADMITTING,
        "active": a + b,
        "waiting": 0,
        "max_concurrency": 6,
        "is_draining": False,
        "members": (member_snapshot(A, a), member_snapshot(B, b)),
    }
    return TierSnapshot(**(facts | changed))


def direct_snapshot(active=0, **changed):
    """The direct tier's counters."""
    facts = {
        "tier_id": DIRECT,
        "phase": TierPhase.ADMITTING,
        "active": active,
        "waiting": 0,
        "max_concurrency": None,
        "is_draining": False,
        "members": (member_snapshot(DIRECT_MEMBER, active),),
    }
    return TierSnapshot(**(facts | changed))
