"""Many answers made into a few numbers. Pure; times are milliseconds, in and out of a Round."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from pydantic import JsonValue

from anvil_trio.conform.reply import Reply
from anvil_trio.evals.token_clock import TokenClock

__all__ = ["Round", "Sample", "Spread", "make_sample", "percentile", "project_round", "summarise"]

_DONE = b"data: [DONE]"
_TAIL_BYTES = 64
_OK = 200
_MS = 1000.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer. `error` is the kind of what went wrong; its times then do not count."""

    first_s: float | None = None
    total_s: float = 0.0
    gaps_s: tuple[float, ...] = ()
    tokens: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How a time is spread over the answers, in milliseconds."""

    p50: float
    p90: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class Round:
    """All answers at one concurrency. A spread is None where nothing was measured."""

    concurrency: int
    requests: int
    errors: Mapping[str, int]
    first_token_ms: Spread | None
    gap_ms: Spread | None
    total_ms: Spread | None
    tokens_per_second: float
    requests_per_second: float

    @property
    def failures(self) -> int:
        """How many requests were not answered well."""
        return sum(self.errors.values())


def make_sample(reply: Reply, clock: TokenClock) -> Sample:
    """What one streamed answer says; tokens as the server counts them, else its events."""
    error = _error_of(reply, clock)
    if error is not None:
        return Sample(error=error)
    counted = clock.completion_tokens
    return Sample(
        first_s=clock.first_s,
        total_s=reply.total_s,
        gaps_s=tuple(clock.gaps_s),
        tokens=clock.pieces if counted is None else counted,
    )


def _error_of(reply: Reply, clock: TokenClock) -> str | None:
    if reply.trouble is not None:
        return reply.trouble.value
    if reply.status != _OK:
        return f"http_{reply.status}"
    if _DONE not in reply.body[-_TAIL_BYTES:]:
        return "cut"
    return "empty" if clock.first_s is None else None


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of values in order, of which there is at least one."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summarise(concurrency: int, samples: Sequence[Sample], wall_s: float) -> Round:
    """The numbers of one round that took `wall_s`."""
    good = [sample for sample in samples if sample.error is None]
    errors = Counter(sample.error for sample in samples if sample.error is not None)
    return Round(
        concurrency=concurrency,
        requests=len(samples),
        errors=dict(sorted(errors.items())),
        first_token_ms=_spread(sample.first_s for sample in good if sample.first_s is not None),
        gap_ms=_spread(gap for sample in good for gap in sample.gaps_s),
        total_ms=_spread(sample.total_s for sample in good),
        tokens_per_second=_rate(sum(sample.tokens for sample in good), wall_s),
        requests_per_second=_rate(len(good), wall_s),
    )


def _rate(count: int, wall_s: float) -> float:
    return round(count / wall_s, 2) if wall_s > 0 else 0.0


def _spread(times_s: Iterable[float]) -> Spread | None:
    ordered = sorted(times_s)
    if not ordered:
        return None
    values = [percentile(ordered, share) for share in (0.5, 0.9, 0.99, 1.0)]
    return Spread(*(round(value * _MS, 2) for value in values))


def project_round(one: Round) -> dict[str, JsonValue]:
    """A round as JSON."""
    found: dict[str, JsonValue] = asdict(one)
    return found
