"""The configuration as the rest of the program sees it: frozen, complete, already checked.

Only `config.parse` makes these from a file; tests may build them directly. Each value obeys the
rule of its own key even then; rules between keys are checked by the parser alone. Times are
seconds.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from anvil_trio.config.fields import (
    AudioUrl,
    AutoCeiling,
    Ceiling,
    ClientLimits,
    Count,
    Digest,
    DirectUrl,
    EnvName,
    FilePath,
    Flag,
    FreeText,
    HealthPath,
    Identifier,
    JsonTable,
    KeepaliveSeconds,
    MediaScopes,
    MemberUrl,
    Origin,
    Origins,
    Period,
    Positive,
    Principal,
    QualificationRef,
    Seconds,
    Text,
    TraceUrl,
    VersionLabel,
)
from anvil_trio.config.kinds import Choice, whole
from anvil_trio.facts import Served
from anvil_trio.names import DIRECT_MEMBER, Alias, ClientId, MemberId, TierId, normalise_alias

__all__ = [
    "AudioRoute",
    "Compat",
    "Frozen",
    "MediaPolicy",
    "PurposeModel",
    "ReplicaIdentity",
    "ReplicaMember",
    "RouterConfig",
    "RouterSettings",
    "ServerSettings",
    "Tier",
    "TierDialect",
    "TierSettings",
]


def _no_json() -> Mapping[str, JsonValue]:
    return MappingProxyType({})


def _nobody() -> Mapping[str, int]:
    return MappingProxyType({})


class Frozen(BaseModel):
    """A closed, strict, immutable table that never shows its values in an error."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        allow_inf_nan=False,
        protected_namespaces=(),  # `model_identity` and its like are the file's names
    )

    def __copy__(self) -> Self:
        """A copy, which may be given other values: what was worked out of the old ones stays."""
        copied = super().__copy__()
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied


class TierDialect(StrEnum):
    """What a tier's engines speak."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class ServerSettings(Frozen):
    """`[server]`."""

    auth_env: EnvName | None = None
    admission_timeout_s: Seconds = 30.0
    startup_timeout_s: Seconds = 300.0
    idle_timeout_s: Seconds = 60.0
    total_timeout_s: Seconds = 900.0
    heartbeat_interval_s: Seconds = 15.0
    client_stall_timeout_s: Seconds = 60.0
    shutdown_timeout_s: Seconds = 900.0  # the parser's default is total_timeout_s
    max_concurrency: Annotated[int, whole(1, 65_536)] = 1024
    max_connections: Annotated[int, whole(1, 65_536)] = 4096
    max_body_bytes: Annotated[int, whole(1024, 2**30)] = 33_554_432
    max_event_bytes: Annotated[int, whole(4096, 2**28)] = 16_777_216
    client_limits: ClientLimits = Field(default_factory=_nobody)
    authorization_policy_path: FilePath | None = None
    decision_log_path: FilePath | None = None
    admission_state_path: FilePath | None = None
    trace_export_url: TraceUrl | None = None
    workload_host: Identifier | None = None
    cors_origins: Origins = ()
    tls_certfile: FilePath | None = None
    tls_keyfile: FilePath | None = None
    media_principal: Principal | None = None
    media_scopes: MediaScopes | None = None
    media_public_origin: Origin | None = None
    media_backend: Annotated[Literal["comfyui", "demo"], Choice()] = "comfyui"
    media_retention_s: Annotated[int, whole(60, 31_536_000)] = 604_800
    media_max_artifact_bytes: Annotated[int, whole(1024, 2**30)] = 67_108_864
    media_max_stored_bytes: Annotated[int, whole(1024, 2**40)] = 4_294_967_296
    media_max_active: Annotated[int, whole(1, 1024)] = 64

    @property
    def budgets(self) -> Mapping[ClientId, int]:
        """`client_limits` by client: how many requests each of them may have inside at once."""
        return {ClientId(name): limit for name, limit in self.client_limits.items()}


class ReplicaIdentity(Frozen):
    """The deployment that all members of a replica tier declare (R005); never verified live."""

    model_revision: VersionLabel
    engine_version: VersionLabel
    image_digest: Digest
    config_fingerprint: Digest


class ReplicaMember(Frozen):
    """One endpoint of a replica tier (R003). Only `id` and `qualification_ref` are ever shown."""

    id: Identifier
    base_url: MemberUrl = Field(repr=False)
    host_id: Identifier = Field(repr=False)
    resource_id: Identifier = Field(repr=False)
    qualification_ref: QualificationRef
    max_concurrency: Ceiling | None = None


class Compat(Frozen):
    """How a tier's engines differ from the letter of the API; closed, one test per value."""

    system_position: Annotated[Literal["keep", "merge_first", "as_user"], Choice()] = "keep"
    developer_role: Annotated[Literal["system", "developer"], Choice()] = "system"
    empty_content: Annotated[Literal["empty", "null"], Choice()] = "empty"
    max_tokens_field: Annotated[
        Literal["max_tokens", "max_completion_tokens", "both"], Choice()
    ] = "max_tokens"
    # "as_sent" is spelled `strip_reasoning_history = false` in a file, and only so.
    reasoning_history: Annotated[
        Literal["drop", "reasoning_content", "reasoning", "as_sent"], Choice()
    ] = "drop"
    prefill: Annotated[Literal["continue", "refuse"], Choice()] = "continue"
    drop_billing_header: Flag = True


class MediaPolicy(Frozen):
    """`params.capacity` of a tier whose `media_admission_enabled` is true: all four are known."""

    image_limit: Count
    video_limit: Count
    image_tokens_estimate: Count
    video_tokens_estimate: Count


class TierSettings(Frozen):
    """The keys of one `[[router.tiers]]` that hold one value each."""

    id: Text
    dialect: Annotated[TierDialect, Choice()] = TierDialect.OPENAI
    privacy: Annotated[Literal["local"], Choice()] = "local"
    tool_support: Flag = True
    realtime: Flag = False
    auth_env: EnvName = Field(repr=False)
    base_url: DirectUrl = Field(default="", repr=False)
    replica_strategy: Annotated[Literal["round_robin", "capacity"], Choice()] = "round_robin"
    replica_affinity: Annotated[Literal["none", "session"], Choice()] = "none"
    context_limit: Positive | None = None
    model: Text | None = None
    metadata_source: Annotated[Literal["configured", "upstream"], Choice()] = "configured"
    context_admission: Annotated[Literal["estimate", "upstream"], Choice()] = "estimate"
    health_path: HealthPath | None = None
    model_identity: Flag = False
    timeout: Period | None = None
    max_concurrency: AutoCeiling | None = None
    max_output_tokens: Positive | None = None
    extra_body: JsonTable = Field(default_factory=_no_json, repr=False)
    extra_body_defaults: JsonTable = Field(default_factory=_no_json, repr=False)
    engine: FreeText | None = None
    quantization: FreeText | None = None
    params: JsonTable = Field(default_factory=_no_json, repr=False)
    upstream_keepalive_s: KeepaliveSeconds = 4.0


class Tier(TierSettings):
    """One logical tier: one endpoint, or 2 to 16 identical replicas on one host (R002).

    `base_url` is the empty string for a replica tier and must never reach a URL builder; use
    `endpoint_of`. A direct tier has one unnamed member, `DIRECT_MEMBER`. What every request asks of
    it is worked out once.
    """

    replicas: tuple[ReplicaMember, ...] = ()
    replica_identity: ReplicaIdentity | None = None
    media_policy: MediaPolicy | None = None
    compat: Compat = Compat()

    @cached_property
    def is_replica(self) -> bool:
        """Whether the tier's members are named and shown."""
        return bool(self.replicas)

    @cached_property
    def is_capacity(self) -> bool:
        """Whether the tier's members are ranked by how full they are."""
        return self.is_replica and self.replica_strategy == "capacity"

    @cached_property
    def is_upstream_owned(self) -> bool:
        """Whether the engine says which model the tier serves, and with which context."""
        return self.metadata_source == "upstream"

    @property
    def has_auto_ceiling(self) -> bool:
        """Whether the engine says how many requests the tier takes at a time."""
        return self.max_concurrency == "auto"

    def adopting(self, served: Served | None) -> "Tier":
        """The tier as its engine serves it; as configured if that owns nothing or says nothing."""
        if served is None or not self.is_upstream_owned:
            return self
        return self.model_copy(
            update={"model": served.model, "context_limit": served.context_limit}
        )

    @cached_property
    def member_ids(self) -> tuple[MemberId, ...]:
        """All members in lexical order; one unnamed member for a direct tier."""
        if not self.replicas:
            return (DIRECT_MEMBER,)
        return tuple(sorted(MemberId(member.id) for member in self.replicas))

    @property
    def named_members(self) -> tuple[MemberId, ...]:
        """The members that can be named: all of a replica tier's, none of a direct tier's."""
        return self.member_ids if self.is_replica else ()

    @property
    def member_ceilings(self) -> Mapping[MemberId, int | None]:
        """Each member's own ceiling; None where it has none."""
        if not self.replicas:
            return {DIRECT_MEMBER: None}
        return {MemberId(member.id): member.max_concurrency for member in self.replicas}

    @property
    def ceiling(self) -> int | None:
        """The tier's own ceiling, else the members' sum if all have one, else None.

        None for an auto ceiling, which only the engine knows.
        """
        if isinstance(self.max_concurrency, int):
            return self.max_concurrency
        ceilings = [member.max_concurrency for member in self.replicas]
        known = [ceiling for ceiling in ceilings if ceiling is not None]
        return sum(known) if known and len(known) == len(ceilings) else None

    def endpoint_of(self, member_id: MemberId) -> str:
        """The base URL of one member. KeyError for a member this tier does not have."""
        if not self.replicas and member_id == DIRECT_MEMBER:
            return self.base_url
        return {MemberId(member.id): member.base_url for member in self.replicas}[member_id]


class PurposeModel(Frozen):
    """One `[[router.purpose_models]]`: callers name `model`, and so is it called upstream."""

    id: Text
    kind: Annotated[Literal["embedding", "rerank"], Choice()]
    model: Text
    base_url: DirectUrl = Field(repr=False)
    auth_env: EnvName | None = Field(default=None, repr=False)
    timeout: Period | None = None

    @property
    def word(self) -> str:
        """What a record and a number call its kind."""
        return self.kind


class AudioRoute(Frozen):
    """One `[[router.audio_routes]]`: callers name `id`, upstream it is called `model`."""

    id: Text
    purpose: Annotated[Literal["stt", "tts"], Choice()]
    model: Text
    base_url: AudioUrl = Field(repr=False)
    source_sample_rate: Annotated[int, whole(8000, 192_000)] | None = None
    timeout: Period | None = None
    auth_env: EnvName | None = Field(default=None, repr=False)
    default: Flag = False

    @property
    def word(self) -> str:
        """What a record and a number call its kind."""
        return self.purpose


_AUDIO_BYTES = whole(1024, 33_554_432)


class RouterSettings(Frozen):
    """The scalars of `[router]`."""

    exhaustion_status: Annotated[int, whole(400, 599)] = 503
    relay_timeout: Period = 20.0
    availability_probe_interval: Period = 5.0
    availability_probe_timeout: Period = 1.0
    availability_probe_max_bytes: Annotated[int, whole(256, 1_048_576)] = 65_536
    availability_failures: Annotated[int, whole(1, 10)] = 2
    audio_max_input_bytes: Annotated[int, _AUDIO_BYTES] = 4_194_304
    audio_max_output_bytes: Annotated[int, _AUDIO_BYTES] = 4_194_304
    audio_max_text_chars: Annotated[int, _AUDIO_BYTES] = 16_384
    audio_max_concurrency: Annotated[int, whole(1, 16)] = 4


class RouterConfig(Frozen):
    """One whole configuration, with the exact bytes it came from and their sha256 (R004)."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    router: RouterSettings = Field(default_factory=RouterSettings)
    tiers: tuple[Tier, ...]
    routes: Annotated[
        Mapping[str, TierId], AfterValidator(MappingProxyType)
    ]  # normalised alias -> tier, in the order of the file
    purpose_models: tuple[PurposeModel, ...] = ()
    audio_routes: tuple[AudioRoute, ...] = ()
    source: bytes = Field(default=b"", repr=False)
    sha256: str = ""

    @property
    def services(self) -> tuple[PurposeModel | AudioRoute, ...]:
        """Everything beside chat, in the order of the file."""
        return (*self.purpose_models, *self.audio_routes)

    def tier(self, tier_id: TierId) -> Tier:
        """The tier of that id. KeyError if there is none."""
        return {TierId(tier.id): tier for tier in self.tiers}[tier_id]

    def resolve(self, model: str) -> tuple[Alias, Tier] | None:
        """R001: the one tier that a caller's model name stands for, or None."""
        alias = normalise_alias(model)
        tier_id = self.routes.get(alias)
        return None if tier_id is None else (alias, self.tier(tier_id))
