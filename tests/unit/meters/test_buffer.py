import math

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from anvil_trio.decisions.words import WorkloadOutcome
from anvil_trio.meters.buffer import ALL_MODELS, Buffer, Summary
from tests.unit.decisions.samples import record

MODELS = ("llm.primary", "chat")
EVERY_ROW = [ALL_MODELS, "llm.primary", "chat", "unknown_model", "unparsed"]


def kept(route: str = "llm.primary", latency_ms: int = 10, **more):
    """A record of one route."""
    return replace(record(), route=route, latency_ms=latency_ms, **more)


def summed(newest, *, limit: int = 10_000, only: str | None = None) -> Buffer:
    """The buffer with all its work done."""
    buffer = Buffer(newest, MODELS, limit=limit, only=only)
    for _ in buffer.work():
        pass
    return buffer


def test_every_alias_has_a_row_and_so_have_the_fixed_words():
    """The rows are there before the first record: all, each alias, unknown and unparsed."""
    buffer = summed([])
    assert list(buffer.rows) == EVERY_ROW
    assert {row.succeeded for row in buffer.rows.values()} == {0}


def test_without_samples_a_duration_is_not_known():
    """An average of nothing is None and no zero."""
    [spans] = {tuple(row.spans.values()) for row in summed([]).rows.values()}
    assert set(spans) == {Summary(samples=0, average=None, p50=None, p95=None)}


def test_a_record_counts_for_its_model_and_for_all():
    """Sums are by route; unknown tokens add nothing, and anything but a success has failed."""
    buffer = summed([
        kept(total_prompt_tokens=3, total_completion_tokens=4, request_bytes=5, response_bytes=6),
        kept("chat", workload_outcome=WorkloadOutcome.TIMEOUT, request_bytes=7),
        kept("unknown_model", workload_outcome=WorkloadOutcome.REJECTED),
    ])
    rows = buffer.rows
    assert [(row.succeeded, row.failed) for row in rows.values()] == [
        (1, 2),
        (1, 0),
        (0, 1),
        (0, 1),
        (0, 0),
    ]
    everything = rows[ALL_MODELS]
    assert (everything.prompt_tokens, everything.completion_tokens) == (3, 4)
    assert (everything.request_bytes, everything.response_bytes) == (12, 6)
    assert rows["chat"].request_bytes == 7


def test_a_route_that_is_no_longer_configured_counts_for_all_only():
    """A record of an earlier configuration makes no row."""
    rows = summed([kept("gone")]).rows
    assert list(rows) == EVERY_ROW
    assert rows[ALL_MODELS].succeeded == 1


def test_a_zero_is_a_sample_and_none_is_not():
    """A duration of 0 ms is known; one that did not happen is not."""
    spans = summed([kept(latency_ms=0, readiness_check_ms=0), kept(latency_ms=4)]).rows[""].spans
    assert spans["latency_ms"] == Summary(2, 2.0, 0, 4)
    assert spans["readiness_check_ms"] == Summary(1, 0.0, 0, 0)
    assert spans["upstream_duration_ms"] == Summary()


@given(st.lists(st.integers(0, 500), min_size=1, max_size=500))
def test_percentiles_are_by_nearest_rank(values):
    """Over any number of pieces: the smallest value that so many are not above."""
    span = summed([kept(latency_ms=value) for value in values]).rows[""].spans["latency_ms"]
    ranked = sorted(values)
    assert span.p50 == ranked[math.ceil(len(values) * 0.5) - 1]
    assert span.p95 == ranked[math.ceil(round(len(values) * 0.95, 9)) - 1]
    assert span.average == sum(values) / len(values)
    assert span.samples == len(values)


def test_the_limit_takes_the_newest():
    """Of all records, the first so many of what is given newest first, also inside a piece."""
    newest = [kept(latency_ms=number) for number in range(1000)]
    for limit in (1, 199, 200, 201, 999, 2000):
        span = summed(newest, limit=limit).rows[""].spans["latency_ms"]
        assert span.samples == min(limit, 1000)
        assert span.average == (min(limit, 1000) - 1) / 2


def test_one_model_is_filtered_before_it_is_limited():
    """With a model the limit counts its records only, and no other row is shown."""
    newest = [kept("chat" if number % 2 else "llm.primary", number) for number in range(1000)]
    rows = summed(newest, limit=300, only="chat").rows
    assert list(rows) == ["chat"]
    span = rows["chat"].spans["latency_ms"]
    assert (span.samples, span.p50) == (300, 299)


def test_the_work_comes_in_many_pieces():
    """Ten thousand records are no single step: none takes in more than two hundred."""
    newest = [kept() for _ in range(10_000)]
    buffer = Buffer(newest, MODELS, limit=10_000)
    counted, most = 0, 0
    for _ in buffer.work():
        now = buffer.rows[ALL_MODELS].succeeded
        most, counted = max(most, now - counted), now
    assert (counted, most) == (10_000, 200)
