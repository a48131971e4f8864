"""`GET /v1/models/capabilities`: what each tier and service takes, as configured and declared."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from anvil_trio.config.model import RouterConfig
from anvil_trio.facts import ServiceFacts, ServiceKind
from anvil_trio.names import Alias
from anvil_trio.views.declared import Declared, declared
from anvil_trio.views.readiness import ReadinessBlock, VerdictOf
from anvil_trio.views.replica import DeclaredIdentity, Declares, Member, Verified, show_tier
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape
from anvil_trio.views.tiers import TierRow, rows_of

__all__ = [
    "SERVICE_PATHS",
    "CapabilitiesPage",
    "CapabilitiesRow",
    "ServiceCapabilities",
    "project_capabilities",
]

SERVICE_PATHS: Mapping[ServiceKind, tuple[str, ...]] = MappingProxyType({
    "embedding": ("/v1/embeddings",),
    "rerank": ("/v1/rerank",),
    "stt": ("/v1/audio/transcriptions", "/v1/audio/translations"),
    "tts": ("/v1/audio/speech",),
})
"""Where services of each kind are asked."""


class Tools(Shape, frozen=True, kw_only=True):
    """Whether requests with tools are taken."""

    supported: bool


class Thinking(Shape, frozen=True, kw_only=True):
    """What is declared of reasoning; null is not declared."""

    supported: bool | None
    default: bool | str | None
    caller_override: bool | None
    max_tokens: Count | None


class DeclaredCompat(Shape, frozen=True, kw_only=True, rename="camel"):
    """What is declared of an engine's ways, under the names that clients know; null is not."""

    supports_usage_in_streaming: bool | None
    supports_strict_mode: bool | None
    supported_reasoning_efforts: list[str] | None


class CapabilityLimits(Shape, frozen=True, kw_only=True):
    """What one request may ask for; null is no limit of the router's."""

    max_output_tokens: Count | None
    images_per_request: Count | None
    video_per_request: Count | None


class CapabilitiesRow(Shape, frozen=True, kw_only=True):
    """One tier's capabilities; a replica tier's has the last four keys.

    `realtime` is there, and true, for a tier that has sessions.
    """

    object: Literal["model_capabilities"] = "model_capabilities"
    id: str
    aliases: list[str]
    model: str | None
    context_limit_tokens: Count | None
    tools: Tools
    modalities: list[str] | None
    thinking: Thinking
    compat: DeclaredCompat
    limits: CapabilityLimits
    readiness: ReadinessBlock
    realtime: bool | Absent = ABSENT
    members: list[Member] | Absent = ABSENT
    replica_identity: DeclaredIdentity | Absent | None = ABSENT
    deployment_identity_source: Declares | Absent = ABSENT
    runtime_deployment_identity_verified: Verified | Absent = ABSENT


class ServiceCapabilities(Shape, frozen=True, kw_only=True):
    """One service beside chat: what callers name it, and where it is asked."""

    object: Literal["service_capabilities"] = "service_capabilities"
    id: str
    kind: ServiceKind
    name: str
    paths: list[str]
    is_default: bool
    sample_rate_hz: Count | None


class CapabilitiesPage(Shape, frozen=True, kw_only=True):
    """One row per tier; where there are services beside chat, one row for each of those."""

    object: Literal["list"] = "list"
    data: list[CapabilitiesRow]
    services: list[ServiceCapabilities] | Absent = ABSENT


def project_capabilities(
    config: RouterConfig,
    verdict_of: VerdictOf,
    *,
    only: Alias | None = None,
    services: Iterable[ServiceFacts] = (),
) -> CapabilitiesPage:
    """One row per tier and service, in the order of the file; `only` leaves one alias' tier."""
    shown = [] if only is not None else [_service(each) for each in services]
    return CapabilitiesPage(
        data=[_row(one, verdict_of) for one in rows_of(config, only)],
        services=shown or ABSENT,
    )


def _service(service: ServiceFacts) -> ServiceCapabilities:
    return ServiceCapabilities(
        id=service.id,
        kind=service.kind,
        name=service.name,
        paths=list(SERVICE_PATHS[service.kind]),
        is_default=service.is_default,
        sample_rate_hz=service.sample_rate,
    )


def _row(one: TierRow, verdict_of: VerdictOf) -> CapabilitiesRow:
    shown = show_tier(one.tier, verdict_of)
    tier, replica = shown.tier, shown.projection
    said = declared(tier, "capabilities")
    return CapabilitiesRow(
        id=tier.id,
        aliases=one.aliases,
        model=tier.model,
        context_limit_tokens=tier.context_limit,
        tools=Tools(supported=tier.tool_support),
        modalities=said.words("modalities"),
        thinking=_thinking(said.inner("thinking")),
        compat=_compat(said.inner("compat")),
        limits=CapabilityLimits(
            max_output_tokens=tier.max_output_tokens,
            images_per_request=said.count("images_per_request"),
            video_per_request=said.count("video_per_request"),
        ),
        readiness=shown.readiness.block,
        realtime=tier.realtime or ABSENT,
        members=replica.members,
        replica_identity=replica.replica_identity,
        deployment_identity_source=replica.deployment_identity_source,
        runtime_deployment_identity_verified=replica.runtime_deployment_identity_verified,
    )


def _thinking(said: Declared) -> Thinking:
    flag, word = said.flag("default"), said.text("default")
    return Thinking(
        supported=said.flag("supported"),
        default=word if flag is None else flag,
        caller_override=said.flag("caller_override"),
        max_tokens=said.count("max_tokens"),
    )


def _compat(said: Declared) -> DeclaredCompat:
    return DeclaredCompat(
        supports_usage_in_streaming=said.flag("supportsUsageInStreaming"),
        supports_strict_mode=said.flag("supportsStrictMode"),
        supported_reasoning_efforts=said.words("supportedReasoningEfforts"),
    )
