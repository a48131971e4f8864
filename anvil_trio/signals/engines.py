"""What vLLM, SGLang and llama.cpp call their numbers, and the one observation all become. Pure.

A number that is missing, odd or disputed is None. It is never zero: an idle engine is a claim,
and only an engine makes it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.signals.prometheus_text import Sample, TextFault, parse_samples, wanted_lines

__all__ = [
    "ENGINES",
    "Engine",
    "Fault",
    "Kind",
    "Observation",
    "Series",
    "SignalState",
    "engine_of",
    "observe",
]

_SUFFIXES = "-+@:/"

# A scheduler replica, or a part of a counter that the engine counts in two: these add up.
_GROUP_LABELS = ("engine", "dp_rank", "engine_type", "is_streaming")
# Copies of one scheduler's numbers; the lowest rank of each speaks for all.
_RANK_LABELS = ("pp_rank", "tp_rank", "moe_ep_rank")
_MODEL_LABELS = ("model_name", "model")


class SignalState(StrEnum):
    """Whether a kind of number is there and may be believed."""

    VALID = "valid"
    MISSING = "missing"
    INVALID = "invalid"


class Fault(StrEnum):
    """Why a reading gave nothing."""

    TIMED_OUT = "timed_out"
    TRANSPORT = "metrics_transport"
    HTTP = "metrics_http"
    OVERSIZED = "metrics_oversized"
    MALFORMED = "metrics_malformed"
    MISSING = "metrics_missing"


class Kind(StrEnum):
    """What a number may be, and how those of several scheduler replicas become one."""

    REQUESTS = "requests"  # whole, at most 10^9; summed
    TOTAL = "total"  # whole, since the engine started; summed
    RATE = "rate"  # any finite number from 0; summed
    SHARE = "share"  # from 0 to 1; averaged


_WHOLE = {Kind.REQUESTS, Kind.TOTAL}
_MOST = {Kind.REQUESTS: 10**9, Kind.TOTAL: 2**53 - 1, Kind.SHARE: 1}


@dataclass(frozen=True, slots=True)
class Series:
    """One observed number: its names at this engine, the current one first."""

    names: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one reading of one engine says. Counters are the engine's, cumulative, as they are.

    `requests_state` covers running and waiting together, `kv_state` the cache's use.
    """

    requests_running: int | None = None
    requests_waiting: int | None = None
    kv_cache_usage_fraction: float | None = None
    preemptions_total: int | None = None
    multimodal_cache_queries_total: int | None = None
    multimodal_cache_hits_total: int | None = None
    generation_tokens_total: int | None = None
    generation_throughput_tokens_per_second: float | None = None
    prefix_cache_queries_total: int | None = None
    prefix_cache_hits_total: int | None = None
    prefix_cache_hit_rate: float | None = None
    requests_state: SignalState = SignalState.MISSING
    kv_state: SignalState = SignalState.MISSING


class Engine:
    """One family of engines: its words in configuration, and its series by observed number."""

    def __init__(
        self, words: Sequence[str], series: Mapping[str, Series], *, asks_by_model: bool = False
    ) -> None:
        self.words = tuple(words)
        self.series = MappingProxyType(dict(series))
        self.asks_by_model = asks_by_model
        self.wanted = wanted_lines(name for one in series.values() for name in one.names)


VLLM = Engine(
    ("vllm",),
    {
        "requests_running": Series(("vllm:num_requests_running",), Kind.REQUESTS),
        "requests_waiting": Series(("vllm:num_requests_waiting",), Kind.REQUESTS),
        "kv_cache_usage_fraction": Series(
            ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"), Kind.SHARE
        ),
        "preemptions_total": Series(("vllm:num_preemptions_total",), Kind.TOTAL),
        "multimodal_cache_queries_total": Series(("vllm:mm_cache_queries_total",), Kind.TOTAL),
        "multimodal_cache_hits_total": Series(("vllm:mm_cache_hits_total",), Kind.TOTAL),
        "generation_tokens_total": Series(("vllm:generation_tokens_total",), Kind.TOTAL),
        "prefix_cache_queries_total": Series(
            ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"), Kind.TOTAL
        ),
        "prefix_cache_hits_total": Series(
            ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"), Kind.TOTAL
        ),
    },
)
SGLANG = Engine(
    ("sglang",),
    {
        "requests_running": Series(("sglang:num_running_reqs",), Kind.REQUESTS),
        "requests_waiting": Series(("sglang:num_queue_reqs",), Kind.REQUESTS),
        "kv_cache_usage_fraction": Series(("sglang:token_usage",), Kind.SHARE),
        "generation_tokens_total": Series(("sglang:generation_tokens_total",), Kind.TOTAL),
        "generation_throughput_tokens_per_second": Series(("sglang:gen_throughput",), Kind.RATE),
        "prefix_cache_hit_rate": Series(("sglang:cache_hit_rate",), Kind.SHARE),
    },
)
LLAMACPP = Engine(
    ("llamacpp", "llama.cpp", "llama-cpp"),
    {
        "requests_running": Series(("llamacpp:requests_processing",), Kind.REQUESTS),
        "requests_waiting": Series(("llamacpp:requests_deferred",), Kind.REQUESTS),
        "kv_cache_usage_fraction": Series(("llamacpp:kv_cache_usage_ratio",), Kind.SHARE),
        "generation_tokens_total": Series(("llamacpp:tokens_predicted_total",), Kind.TOTAL),
        "generation_throughput_tokens_per_second": Series(
            ("llamacpp:predicted_tokens_seconds",), Kind.RATE
        ),
    },
    asks_by_model=True,
)
ENGINES = (VLLM, SGLANG, LLAMACPP)


def engine_of(label: str | None) -> Engine | None:
    """The family that a tier's `engine` names: its word, alone or before one of `- + @ : /`."""
    said = "" if label is None else label.strip().lower()
    for engine in ENGINES:
        for word in engine.words:
            if said == word or (said.startswith(word) and said[len(word)] in _SUFFIXES):
                return engine
    return None


def observe(engine: Engine, text: bytes, model: str | None) -> Observation | Fault:
    """The observation that a metrics text makes; `model` is the tier's, None where it has none."""
    try:
        samples = [s for s in parse_samples(text, engine.wanted) if _is_of(model, s)]
    except TextFault:
        return Fault.MALFORMED
    if not samples:
        return Fault.MISSING
    numbers: dict[str, float] = {}
    states = dict.fromkeys(engine.series, SignalState.MISSING)
    for field, series in engine.series.items():
        groups = _groups(samples, series.names)
        if not groups:
            continue
        number = _join(groups, series.kind)
        states[field] = SignalState.INVALID if number is None else SignalState.VALID
        if number is not None:
            numbers[field] = number
    return _observation(numbers, states)


def _observation(numbers: Mapping[str, float], states: Mapping[str, SignalState]) -> Observation:
    def whole(field: str) -> int | None:
        return int(numbers[field]) if field in numbers else None

    return Observation(
        requests_running=whole("requests_running"),
        requests_waiting=whole("requests_waiting"),
        kv_cache_usage_fraction=numbers.get("kv_cache_usage_fraction"),
        preemptions_total=whole("preemptions_total"),
        multimodal_cache_queries_total=whole("multimodal_cache_queries_total"),
        multimodal_cache_hits_total=whole("multimodal_cache_hits_total"),
        generation_tokens_total=whole("generation_tokens_total"),
        generation_throughput_tokens_per_second=numbers.get(
            "generation_throughput_tokens_per_second"
        ),
        prefix_cache_queries_total=whole("prefix_cache_queries_total"),
        prefix_cache_hits_total=whole("prefix_cache_hits_total"),
        prefix_cache_hit_rate=numbers.get("prefix_cache_hit_rate"),
        requests_state=_worst(states["requests_running"], states["requests_waiting"]),
        kv_state=states["kv_cache_usage_fraction"],
    )


def _worst(one: SignalState, other: SignalState) -> SignalState:
    for state in (SignalState.INVALID, SignalState.MISSING):
        if state in {one, other}:
            return state
    return SignalState.VALID


def _is_of(model: str | None, sample: Sample) -> bool:
    """Whether the sample is about the tier's model, as far as it says."""
    named = (sample.labels[label] for label in _MODEL_LABELS if label in sample.labels)
    return model is None or all(name == model for name in named)


def _groups(samples: Sequence[Sample], names: Sequence[str]) -> Iterable[set[float]]:
    """The values of each scheduler replica under the first of the names that is there at all."""
    for name in names:
        found: dict[tuple[str | None, ...], dict[tuple[str, ...], set[float]]] = {}
        for sample in samples:
            if sample.name == name:
                group = tuple(sample.labels.get(label) for label in _GROUP_LABELS)
                rank = tuple(sample.labels.get(label, "").zfill(6) for label in _RANK_LABELS)
                found.setdefault(group, {}).setdefault(rank, set()).add(sample.value)
        if found:
            return [ranks[min(ranks)] for ranks in found.values()]
    return ()


def _join(groups: Iterable[set[float]], kind: Kind) -> float | None:
    """One number for all replicas; None if a replica's copies disagree or one is no such number."""
    values: list[float] = []
    for copies in groups:
        value = copies.pop()
        if copies or not _is_valid(value, kind):
            return None
        values.append(value)
    joined = math.fsum(values)
    if kind is Kind.SHARE:
        return joined / len(values)
    return joined if _is_valid(joined, kind) else None


def _is_valid(value: float, kind: Kind) -> bool:
    if not math.isfinite(value) or value < 0:
        return False
    most = _MOST.get(kind, math.inf)
    return value <= most and (kind not in _WHOLE or value.is_integer())
