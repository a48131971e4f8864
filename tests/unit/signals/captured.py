"""The metrics texts of real engines, and what each says, written down by hand."""

from pathlib import Path

from anvil_trio.signals.engines import LLAMACPP, SGLANG, VLLM, Engine, Observation, SignalState

__all__ = ["CAPTURED", "MODEL", "engine_named", "text_of"]

MODEL = "tiny"
_FOLDER = Path(__file__).parents[2] / "data" / "metrics"
_VALID = SignalState.VALID


def text_of(name: str) -> bytes:
    """One captured text."""
    return (_FOLDER / f"{name}.prom").read_bytes()


def engine_named(name: str) -> Engine:
    """The engine that a capture is of."""
    return {"vllm": VLLM, "sglang": SGLANG, "llamacpp": LLAMACPP}[name.split("-", maxsplit=1)[0]]


def _vllm(running=0, waiting=0, kv=0.0, tokens=257, queries=3989, hits=2432) -> Observation:
    return Observation(
        requests_running=running,
        requests_waiting=waiting,
        kv_cache_usage_fraction=kv,
        preemptions_total=0,
        multimodal_cache_queries_total=0,
        multimodal_cache_hits_total=0,
        generation_tokens_total=tokens,
        prefix_cache_queries_total=queries,
        prefix_cache_hits_total=hits,
        requests_state=_VALID,
        kv_state=_VALID,
    )


def _sglang(running=0, kv=0.0, tokens=255, rate=237.0746177544224, hits=22 / 23) -> Observation:
    return Observation(
        requests_running=running,
        requests_waiting=0,
        kv_cache_usage_fraction=kv,
        generation_tokens_total=tokens,  # 145 in one piece and 110 streamed
        generation_throughput_tokens_per_second=rate,
        prefix_cache_hit_rate=hits,
        requests_state=_VALID,
        kv_state=_VALID,
    )


def _llamacpp(running=0, waiting=0, tokens=0, rate=0.0) -> Observation:
    return Observation(
        requests_running=running,
        requests_waiting=waiting,
        generation_tokens_total=tokens,
        generation_throughput_tokens_per_second=rate,
        requests_state=_VALID,
        kv_state=SignalState.MISSING,  # this version no longer says
    )


CAPTURED = {
    "vllm-first": _vllm(tokens=0, queries=0, hits=0),
    "vllm-idle": _vllm(),
    "vllm-after": _vllm(),
    "vllm-under-load": _vllm(8, 4, 0.0014649331624244644, 2980, 4213),
    "sglang-first": _sglang(tokens=8, rate=0.0, hits=0.0),
    "sglang-idle": _sglang(),
    "sglang-after": _sglang(),
    "sglang-under-load": _sglang(6, 0.07, rate=1719.0031870128128, hits=27 / 28),
    "llamacpp-first": _llamacpp(),
    "llamacpp-idle": _llamacpp(),
    "llamacpp-after": _llamacpp(tokens=302, rate=751.801),
    "llamacpp-under-load": _llamacpp(2, 3, 302),
}
