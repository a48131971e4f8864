"""Metrics texts, real and spoiled, and what is made of them."""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.signals.engines import (
    ENGINES,
    LLAMACPP,
    SGLANG,
    VLLM,
    Fault,
    Observation,
    SignalState,
    engine_of,
    observe,
)
from anvil_trio.signals.prometheus_text import MAX_TEXT_BYTES
from tests.unit.signals.captured import CAPTURED, MODEL, engine_named, text_of

UNDER_LOAD = [name for name in CAPTURED if name.endswith("under-load")]
SERIES = [
    (name, field, series.names[0])
    for name in UNDER_LOAD
    for field, series in engine_named(name).series.items()
    if getattr(CAPTURED[name], field) is not None
]


def lines_of(text: bytes, series: str) -> re.Pattern[bytes]:
    """Matches each line of one series: its name and labels, then its value."""
    assert series.encode() in text
    return re.compile(rb"^(" + re.escape(series.encode()) + rb"(?:\{[^\n]*\})?) (.*)$", re.M)


def spoiled(name: str, field: str, state: SignalState) -> Observation:
    """What a capture says once one of its numbers is lost."""
    nothing: dict[str, Any] = {field: None}
    expected = replace(CAPTURED[name], **nothing)
    if field.startswith("requests_"):
        return replace(expected, requests_state=state)
    return replace(expected, kv_state=state) if field.startswith("kv_") else expected


@pytest.mark.parametrize("name", CAPTURED)
def test_a_real_text_says_what_is_written_down(name):
    """Each captured text, idle and under load, gives exactly the expected observation."""
    assert observe(engine_named(name), text_of(name), MODEL) == CAPTURED[name]


@pytest.mark.parametrize(("name", "field", "series"), SERIES)
def test_a_renamed_series_is_unknown(name, field, series):
    """A series that an engine renames becomes unknown, never zero, and spoils no other."""
    text = lines_of(text_of(name), series).sub(rb"x_\1 \2", text_of(name))
    assert observe(engine_named(name), text, MODEL) == spoiled(name, field, SignalState.MISSING)


@pytest.mark.parametrize("value", [b"NaN", b"-1", b"+Inf", b"-Inf"])
@pytest.mark.parametrize(("name", "field", "series"), SERIES)
def test_an_odd_value_is_unknown(name, field, series, value):
    """NaN, infinities and negative numbers are no measurement."""
    text = lines_of(text_of(name), series).sub(rb"\1 " + value, text_of(name))
    assert observe(engine_named(name), text, MODEL) == spoiled(name, field, SignalState.INVALID)


@pytest.mark.parametrize(("name", "field", "series"), SERIES)
def test_a_series_that_contradicts_itself_is_unknown(name, field, series):
    """A second line with other numbers makes the number unknown; an equal one does not."""
    lines = lines_of(text_of(name), series)
    twice = lines.sub(rb"\1 \2\n\1 \2", text_of(name))
    assert observe(engine_named(name), twice, MODEL) == CAPTURED[name]
    text = lines.sub(rb"\1 \2\n\1 0.5", text_of(name))
    assert observe(engine_named(name), text, MODEL) == spoiled(name, field, SignalState.INVALID)


@pytest.mark.parametrize("field", ["requests_running", "requests_waiting"])
@pytest.mark.parametrize("value", ["1.5", "1000000001"])
def test_a_count_is_whole_and_bounded(field, value):
    """Half a request, or more than a thousand million, is no count."""
    [name] = VLLM.series[field].names
    text = lines_of(text_of("vllm-idle"), name).sub(rb"\1 " + value.encode(), text_of("vllm-idle"))
    seen = observe(VLLM, text, MODEL)
    assert seen == spoiled("vllm-idle", field, SignalState.INVALID)


def test_a_share_above_one_is_unknown():
    """No cache is more than full."""
    seen = observe(VLLM, b"vllm:kv_cache_usage_perc 1.01\n", MODEL)
    assert seen == Observation(kv_state=SignalState.INVALID)


def test_a_counter_beyond_what_json_keeps_exact_is_unknown():
    """A total that readers would round is not passed on, nor one whose sum would be rounded."""
    large = b"llamacpp:tokens_predicted_total 9007199254740993\n"
    assert observe(LLAMACPP, large, MODEL) == Observation()
    two = (
        b'vllm:generation_tokens_total{engine="0"} 9007199254740991\n'
        b'vllm:generation_tokens_total{engine="1"} 9007199254740991\n'
    )
    assert observe(VLLM, two, MODEL) == Observation()


def test_scheduler_replicas_add_up():
    """Requests, counters and rates of several replicas are summed; shares are averaged."""
    text = b"""
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 3
sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 4
sglang:num_queue_reqs{dp_rank="0",tp_rank="0"} 0
sglang:num_queue_reqs{dp_rank="1",tp_rank="0"} 2
sglang:token_usage{dp_rank="0",tp_rank="0"} 0.25
sglang:token_usage{dp_rank="1",tp_rank="0"} 0.75
sglang:gen_throughput{dp_rank="0",tp_rank="0"} 10.5
sglang:gen_throughput{dp_rank="1",tp_rank="0"} 10.25
"""
    assert observe(SGLANG, text, MODEL) == Observation(
        requests_running=7,
        requests_waiting=2,
        kv_cache_usage_fraction=0.5,
        generation_throughput_tokens_per_second=20.75,
        requests_state=SignalState.VALID,
        kv_state=SignalState.VALID,
    )


def test_copies_of_tensor_and_pipeline_ranks_count_once():
    """Of one scheduler's ranks the lowest speaks, in whatever order they stand, and alone."""
    text = b"""
sglang:num_running_reqs{tp_rank="10",pp_rank="0"} 9
sglang:num_running_reqs{tp_rank="2",pp_rank="0"} 3
sglang:num_running_reqs{tp_rank="2",pp_rank="1"} 3
sglang:num_queue_reqs{tp_rank="0",pp_rank="1"} 5
sglang:num_queue_reqs{tp_rank="0",pp_rank="0"} 1
"""
    seen = observe(SGLANG, text, MODEL)
    assert isinstance(seen, Observation)
    assert (seen.requests_running, seen.requests_waiting) == (3, 1)


def test_another_models_numbers_are_not_ours():
    """A sample that names another model is passed over; one that names none is taken."""
    text = (
        b'vllm:num_requests_running{model_name="other"} 9\n'
        b'vllm:num_requests_running{model_name="tiny"} 2\n'
        b"vllm:num_requests_waiting 1\n"
    )
    seen = observe(VLLM, text, MODEL)
    assert isinstance(seen, Observation)
    assert (seen.requests_running, seen.requests_waiting) == (2, 1)
    assert observe(VLLM, b'vllm:num_requests_running{model="other"} 9\n', MODEL) is Fault.MISSING
    # Two models, and no word on which.
    assert observe(VLLM, text, None) == Observation(
        requests_waiting=1, requests_state=SignalState.INVALID
    )


@pytest.mark.parametrize(
    ("engine", "text", "field"),
    [
        (VLLM, b"vllm:gpu_cache_usage_perc 0.5\n", "kv_cache_usage_fraction"),
        (VLLM, b"vllm:gpu_prefix_cache_hits_total 4\n", "prefix_cache_hits_total"),
        (VLLM, b"vllm:gpu_prefix_cache_queries_total 4\n", "prefix_cache_queries_total"),
        (LLAMACPP, b"llamacpp:kv_cache_usage_ratio 0.5\n", "kv_cache_usage_fraction"),
    ],
)
def test_older_names_are_known_too(engine, text, field):
    """What earlier versions called a number is understood where the current name is missing."""
    assert getattr(observe(engine, text, MODEL), field) is not None


@pytest.mark.parametrize(
    "text",
    [
        b"vllm:num_requests_running one\n",
        b'vllm:num_requests_running{model_name="tiny 1\n',
        b"vllm:num_requests_running \xff\n",
        b"vllm:num_requests_running 1\n" * 1025,
        b"#" * (MAX_TEXT_BYTES + 1),
    ],
)
def test_a_wanted_line_that_cannot_be_read_spoils_the_reading(text):
    """Half of an engine's numbers are never taken for all, and no text is unbounded."""
    assert observe(VLLM, text, MODEL) is Fault.MALFORMED


@pytest.mark.parametrize("text", [b"", b"<html>busy</html>", b"vllm:num_requests_running_x 1\n"])
def test_a_text_without_any_wanted_series_says_so(text):
    """A page that is no metrics page is `missing`, not an idle engine."""
    assert observe(VLLM, text, MODEL) is Fault.MISSING


@given(st.binary(max_size=200).map(lambda tail: b"vllm:num_requests_running " + tail))
def test_no_text_raises(text):
    """Whatever an engine sends is an observation or a fault."""
    assert isinstance(observe(VLLM, text, MODEL), Observation | Fault)


@given(
    st.text('{}"=,\\ \t1.0aN', max_size=40).map(
        lambda tail: f"vllm:num_requests_running{{{tail}\nvllm:num_requests_waiting {tail}".encode()
    )
)
def test_no_almost_valid_text_raises(text):
    """The parser's own surprises become faults as well."""
    assert isinstance(observe(VLLM, text, MODEL), Observation | Fault)


@pytest.mark.parametrize(
    ("label", "engine"),
    [
        ("vllm", VLLM),
        ("vLLM-0.11.2", VLLM),
        (" sglang@main ", SGLANG),
        ("sglang:v0.5", SGLANG),
        ("llamacpp", LLAMACPP),
        ("llama.cpp/b6000", LLAMACPP),
        ("llama-cpp-b6000", LLAMACPP),
        ("llama.cpp+cuda", LLAMACPP),
        ("vllmx", None),
        ("llama", None),
        ("tgi", None),
        ("", None),
        (None, None),
    ],
)
def test_the_engine_is_named_by_its_word(label, engine):
    """A tier's `engine` chooses the adapter: a known word, alone or with a suffix."""
    assert engine_of(label) is engine


def test_every_engine_observes_only_what_exists():
    """The table of series names nothing that an observation lacks."""
    known = {field.name for field in fields(Observation)}
    for engine in ENGINES:
        assert set(engine.series) <= known


def test_the_page_names_every_series():
    """The table of docs/capacity.md is the code's: each number, each engine, each name in order."""
    page = (Path(__file__).parents[3] / "docs" / "capacity.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    shown = {
        row[0].strip(" `"): tuple(tuple(re.findall("`([^`]+)`", cell)) for cell in row[1:])
        for row in rows
    }
    assert set(shown) == {field for engine in ENGINES for field in engine.series}
    for field, cells in shown.items():
        names = [engine.series[field].names if field in engine.series else () for engine in ENGINES]
        assert cells == tuple(names)
