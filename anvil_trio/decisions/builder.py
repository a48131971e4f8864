"""What the exchange learns of one request along the way, until it becomes a record."""

from typing import Protocol

import msgspec
from msgspec.structs import force_setattr

from anvil_trio.decisions.dropped import recorded_names
from anvil_trio.decisions.record import (
    UNKNOWN_MODEL_ROUTE,
    UNPARSED_ROUTE,
    Attempt,
    DecisionRecord,
)
from anvil_trio.decisions.scheduler import (
    NO_ELIGIBLE_MEMBER,
    SchedulerEvidence,
    evidence_of,
)
from anvil_trio.decisions.words import (
    AttemptOutcome,
    AttemptReason,
    Ending,
    RequestKind,
    Selection,
    TokenSource,
    WorkloadOutcome,
)
from anvil_trio.dialects.ir import FinishReason, OutputLimit, Prompt, StreamProgress, Usage
from anvil_trio.facts import Schedule
from anvil_trio.names import (
    Alias,
    ClientId,
    MemberId,
    RequestId,
    is_correlation_token,
)

__all__ = ["CallerIds", "RecordBuilder", "Target"]

_NO_LIMIT = OutputLimit()
_NOTHING_REPORTED = Usage()


class Target(Protocol):
    """What a record needs to know of whatever a request was meant for: a tier, or a service."""

    @property
    def id(self) -> str:
        """Its name in the configuration."""
        ...

    @property
    def is_replica(self) -> bool:
        """Whether it has members that are named."""
        ...

    @property
    def is_capacity(self) -> bool:
        """Whether its members are ranked by how full they are."""
        ...

    @property
    def context_limit(self) -> int | None:
        """How many tokens it takes at the most, where that is known."""
        ...

    @property
    def member_ids(self) -> tuple[MemberId, ...]:
        """All that may be selected."""
        ...


class CallerIds(msgspec.Struct, frozen=True):
    """The ids a caller sent for correlation: safe tokens, or None whatever was sent (R012)."""

    request_id: str | None = None
    session_id: str | None = None
    workbench_run_id: str | None = None
    task_id: str | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            text = getattr(self, name)
            if text is not None and not is_correlation_token(text):
                force_setattr(self, name, None)


_NO_IDS = CallerIds()


class RecordBuilder(msgspec.Struct, kw_only=True):
    """One request's record in the making. `finish` gives it, exactly once.

    The exchange sets the plain attributes as it learns of them; what is never set is recorded as
    unknown. `*_at` are moments of trio's clock, `created_unix` is the wall clock's.
    """

    gateway_request_id: RequestId
    started_at: float
    created_unix: float
    kind: RequestKind = RequestKind.CHAT
    client_id: ClientId | None = None
    caller: CallerIds = _NO_IDS
    config_sha256: str | None = None
    router_version: str | None = None

    request_bytes: int = 0
    response_bytes: int = 0
    prompt: Prompt | None = None
    completion_tokens_estimate: int | None = None
    output_limit: OutputLimit = _NO_LIMIT
    dropped_fields: tuple[str, ...] = ()
    usage: Usage = _NOTHING_REPORTED
    finish_reason: FinishReason | None = None
    is_finish_reason_missing: bool = False

    asked_at: float | None = None  # the tier was asked for a member
    answered_at: float | None = None  # it gave one, refused, or the wait was over
    attempted_at: float | None = None  # the connection to the member began
    first_content_at: float | None = None  # the first text, reasoning or tool argument went out
    upstream_ended_at: float | None = None  # the engine's reply was read or given up
    progress: StreamProgress | None = None  # of a stream, while it is relayed

    _route: str = UNPARSED_ROUTE
    _tier: Target | None = None
    _member_id: MemberId | None = None
    _schedule: Schedule | None = None
    _is_finished: bool = False

    @property
    def route(self) -> str:
        """The alias, or the fixed word that stands for it."""
        return self._route

    @property
    def tier(self) -> Target | None:
        """The tier of the alias, once it is known."""
        return self._tier

    @property
    def prompt_tokens_estimate(self) -> int | None:
        """How long the prompt is estimated to be, once it is known."""
        return None if self.prompt is None else self.prompt.tokens

    @property
    def usage_so_far(self) -> Usage:
        """The engine's counts, also before its reply has ended."""
        return self.usage if self.progress is None else self.progress.usage

    def routed(self, alias: Alias | RequestKind, tier: Target) -> None:
        """The caller's model is configured: this alias, this tier (R001); or a kind, a service."""
        self._route = alias
        self._tier = tier

    def beside(self, kind: RequestKind) -> None:
        """No model is asked for, and no tier: what is asked for is the route."""
        self._route = kind

    def unknown_model(self) -> None:
        """The caller's model is not configured; its text is not kept."""
        self._route = UNKNOWN_MODEL_ROUTE

    def selected(self, member_id: MemberId, now: float, schedule: Schedule | None = None) -> None:
        """The tier has reserved this member: from here on there is exactly one attempt (R009)."""
        self._member_id = member_id
        self._schedule = schedule
        self.answered_at = now

    def finish(self, ending: Ending, *, now: float, unix_ts: float) -> DecisionRecord:
        """The one record of this request. A second call is a bug."""
        assert not self._is_finished, "one record per request"
        self._is_finished = True
        caller, tier, is_clamped = self.caller, self._tier, self.output_limit.is_clamped
        ended_at = round(unix_ts * 1000) / 1000  # the nearest number to the millisecond
        prompt, prompt_source, answer, answer_source = self._tokens()
        attempt = self._attempt(ending, prompt, answer, is_clamped=is_clamped)
        member_id, selection = self._pair(ending)
        return DecisionRecord(
            kind=self.kind,
            route=self._route,
            unix_ts=ended_at,
            workload_created_at=round(self.created_unix * 1000) / 1000,
            workload_updated_at=ended_at,
            workload_outcome=ending.workload_outcome,
            gateway_request_id=self.gateway_request_id,
            latency_ms=round((now - self.started_at) * 1000),
            attempts=() if attempt is None else (attempt,),
            requested_tier=None if tier is None else tier.id,
            served_tier=attempt.tier_id if attempt is not None and attempt.succeeded else None,
            replica_member_id=member_id,
            replica_selection=selection,
            replica_scheduler=self._evidence() if tier is not None and tier.is_capacity else None,
            affinity_hit=None if self._schedule is None else self._schedule.is_affinity_hit,
            request_id=caller.request_id,
            session_id=caller.session_id,
            workbench_run_id=caller.workbench_run_id,
            task_id=caller.task_id,
            client_id=self.client_id,
            request_bytes=self.request_bytes,
            response_bytes=self.response_bytes,
            # Nobody waits for a probe: asking the tier reads its newest readiness (R007).
            readiness_check_ms=None if self.asked_at is None else 0,
            admission_wait_ms=_span_ms(self.asked_at, self.answered_at, now),
            upstream_duration_ms=_span_ms(self.attempted_at, self.upstream_ended_at, now),
            time_to_first_content_ms=_span_ms(self.started_at, self.first_content_at),
            finish_reason=self.finish_reason,
            finish_reason_missing=self.is_finish_reason_missing,
            total_prompt_tokens=prompt,
            total_completion_tokens=answer,
            prompt_tokens_source=prompt_source,
            completion_tokens_source=answer_source,
            cache_read_input_tokens=self.usage.cached_tokens,
            output_limit_requested=self.output_limit.requested,
            output_limit_applied=self.output_limit.applied,
            output_limit_clamped=is_clamped,
            dropped_fields=recorded_names(self.dropped_fields) if self.dropped_fields else (),
            config_sha256=self.config_sha256,
            router_version=self.router_version,
        )

    def _tokens(self) -> tuple[int | None, TokenSource, int | None, TokenSource]:
        """Prompt and answer: the engine's counts; only for want of one is an estimate looked at."""
        prompt, prompt_source = self.usage.prompt_tokens, TokenSource.UPSTREAM
        if prompt is None:
            prompt, prompt_source = _estimated(self.prompt_tokens_estimate)
        answer, answer_source = self.usage.completion_tokens, TokenSource.UPSTREAM
        if answer is None:
            answer, answer_source = _estimated(self.completion_tokens_estimate)
        return prompt, prompt_source, answer, answer_source

    def _attempt(
        self,
        ending: Ending,
        prompt_tokens: int | None,
        completion_tokens: int | None,
        *,
        is_clamped: bool,
    ) -> Attempt | None:
        """The attempt on the chosen member, or the gate that a direct tier's request did not pass.

        A replica tier records no attempt before a member was chosen (T011).
        """
        tier = self._tier
        if tier is None:
            return None
        if self._member_id is None:
            if tier.is_replica or ending.refusal is None:
                return None
            return Attempt(
                tier_id=tier.id,
                succeeded=False,
                reason=ending.refusal,
                outcome=AttemptOutcome.SKIPPED,
            )
        reason = ending.attempt
        is_served = reason is AttemptReason.SERVED
        if is_served and is_clamped:
            reason = AttemptReason.SERVED_OUTPUT_CLAMPED
        return Attempt(
            tier_id=tier.id,
            succeeded=is_served,
            reason=reason,
            outcome=AttemptOutcome.SERVED if is_served else AttemptOutcome.ERROR,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )

    def _pair(self, ending: Ending) -> tuple[MemberId | None, Selection | None]:
        """Which member, and how it was chosen; nothing for a direct tier (T011)."""
        tier = self._tier
        if tier is None or not tier.is_replica:
            return None, None
        if self._member_id is not None:
            is_declared = self._member_id in tier.member_ids
            return (self._member_id, Selection.IDENTITY_PASSED) if is_declared else (None, None)
        if self.asked_at is not None:
            return None, Selection.NOT_ADMITTED
        if ending.workload_outcome is WorkloadOutcome.REJECTED:
            return None, Selection.REQUEST_REJECTED
        return None, None

    def _evidence(self) -> SchedulerEvidence | None:
        """What a capacity tier ranked by; nothing if it was not asked."""
        if self.asked_at is None:
            return None
        return NO_ELIGIBLE_MEMBER if self._member_id is None else evidence_of(self._schedule)


def _span_ms(
    began_at: float | None, ended_at: float | None, now: float | None = None
) -> int | None:
    """How long something took, in whole milliseconds; None where it never began.

    What has not ended lasts until `now`; without a `now` there is nothing to say of it.
    """
    if ended_at is None:
        ended_at = now
    if began_at is None or ended_at is None:
        return None
    seconds = ended_at - began_at
    return round(seconds * 1000) if seconds > 0 else 0


def _estimated(estimate: int | None) -> tuple[int | None, TokenSource]:
    return estimate, TokenSource.UNKNOWN if estimate is None else TokenSource.ESTIMATED
