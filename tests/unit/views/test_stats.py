"""`GET /v1/stats`."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.decisions.words import TokenSource, WorkloadOutcome
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.views.stats import Tally, project_stats
from tests.unit.decisions.samples import record
from tests.unit.views.samples import read

NO_SAMPLES = {"samples": 0, "average": None, "p50": None, "p95": None}


def changed(**fields):
    """A record that differs from the least one."""
    return msgspec.structs.replace(record(), **fields)


def block(*records):
    """What these records add up to."""
    tally = Tally()
    for one in records:
        tally.add(one)
    return read(tally.block)


def test_nothing_adds_up_to_nothing():
    """Without records there are no percentiles, and no zero that looks like one."""
    empty = block()
    assert empty["requests"] == {"total": 0, "succeeded": 0, "failed": 0}
    assert empty["latency_ms"] == NO_SAMPLES


def test_every_part_is_added_up():
    """Outcomes, tokens, their sources, bytes and finish reasons of three requests."""
    found = block(
        changed(
            total_prompt_tokens=10,
            total_completion_tokens=4,
            prompt_tokens_source=TokenSource.UPSTREAM,
            completion_tokens_source=TokenSource.ESTIMATED,
            request_bytes=100,
            response_bytes=50,
            finish_reason=FinishReason.STOP,
        ),
        changed(
            workload_outcome=WorkloadOutcome.ERROR,
            total_prompt_tokens=5,
            prompt_tokens_source=TokenSource.ESTIMATED,
            request_bytes=1,
            finish_reason=FinishReason.LENGTH,
        ),
        changed(workload_outcome=WorkloadOutcome.REJECTED),
    )
    assert found["requests"] == {"total": 3, "succeeded": 1, "failed": 2}
    assert found["tokens"] == {"prompt": 15, "completion": 4, "total": 19}
    assert found["usage_sources"] == {
        "prompt": {"upstream": 1, "estimated": 1, "unknown": 1},
        "completion": {"upstream": 0, "estimated": 1, "unknown": 2},
    }
    assert found["bytes"] == {"request": 101, "response": 50, "total": 151}
    assert found["finish_reason_counts"] == {
        "stop": 1,
        "length": 1,
        "tool_calls": 0,
        "content_filter": 0,
        "unknown": 1,
    }


@pytest.mark.parametrize("reason", FinishReason)
def test_every_finish_reason_is_counted_by_its_name(reason):
    """Each has a key of its own."""
    counts = block(changed(finish_reason=reason))["finish_reason_counts"]
    assert {name: count for name, count in counts.items() if count} == {reason.value: 1}


@pytest.mark.parametrize(
    "field", ["readiness_check_ms", "upstream_duration_ms", "time_to_first_content_ms"]
)
def test_a_measured_zero_counts_and_an_unknown_does_not(field):
    """A phase is averaged over those requests that had it."""
    found = block(changed(**{field: 0}), changed(**{field: 3}), record())
    assert found[field] == {"samples": 2, "average": 1.5, "p50": 0, "p95": 3}


def test_a_latency_of_zero_is_a_sample():
    """No request is left out because it was fast."""
    assert block(changed(latency_ms=0))["latency_ms"] == {
        "samples": 1,
        "average": 0.0,
        "p50": 0,
        "p95": 0,
    }


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300))
def test_percentiles_are_nearest_ranks(values):
    """At least so many percent are at or below, and the value is one of the samples."""
    found = block(*(changed(latency_ms=value) for value in values))["latency_ms"]
    for percent, value in ((50, found["p50"]), (95, found["p95"])):
        assert value in values
        assert sum(one <= value for one in values) * 100 >= percent * len(values)
        below = sum(one < value for one in values)
        assert below * 100 < percent * len(values)


def test_the_page_shows_the_whole_and_each_route():
    """Routes are sorted, and each has the same block."""
    total, a, b = Tally(), Tally(), Tally()
    for tally, latency in ((a, 1), (b, 3)):
        tally.add(changed(latency_ms=latency))
        total.add(changed(latency_ms=latency))
    page = read(
        project_stats(total, {"b": b, "a": a}, available=9, matching=5, limit=2, model=None)
    )
    assert list(page["routes"]) == ["a", "b"]
    assert (page["available"], page["matching"], page["count"], page["limit"]) == (9, 5, 2, 2)
    assert page["latency_ms"]["average"] == 2.0
    assert page["routes"]["a"] == read(a.block)
    assert {key: page[key] for key in read(total.block)} == read(total.block)
    assert page["scope"] == "current_decision_log_buffer"
