"""Many answers made into a few numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.conform.reply import Reply, Trouble
from anvil_trio.evals.samples import (
    Sample,
    Spread,
    make_sample,
    percentile,
    project_round,
    summarise,
)
from anvil_trio.evals.token_clock import TokenClock
from tests.support.answers import CHAT_EVENTS, COUNTS, SSE, events, openai_error


def sample_of(reply):
    """A sample of an answer that came in one read, a second after the start."""
    clock = TokenClock()
    clock.hear(1.0, reply.body)
    return make_sample(reply, clock)


def test_an_answer_is_measured():
    """Its tokens are those that the server counts, else its events."""
    reply = events(*CHAT_EVENTS, COUNTS)
    assert sample_of(reply) == Sample(1.0, 0.0, (0.0,), 2)
    counted = events(*CHAT_EVENTS, {**COUNTS, "usage": {"completion_tokens": 9}})
    assert sample_of(counted).tokens == 9
    assert sample_of(events(*CHAT_EVENTS)).tokens == 2


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(trouble=Trouble.TIMED_OUT), "timed_out"),
        (events(*CHAT_EVENTS, trouble=Trouble.BROKEN), "broken"),
        (openai_error(429), "http_429"),
        (events(*CHAT_EVENTS, end=""), "cut"),
        (events(), "empty"),
        (Reply(200, SSE, b""), "cut"),
    ],
)
def test_what_goes_wrong_has_a_kind(reply, error):
    """One of few words, and no times."""
    assert sample_of(reply) == Sample(error=error)


@pytest.mark.parametrize(("share", "value"), [(0.5, 5), (0.9, 9), (0.99, 10), (1.0, 10), (0.0, 1)])
def test_percentiles_are_values_that_were_measured(share, value):
    """By the nearest rank."""
    assert percentile(list(range(1, 11)), share) == value


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_is_one_of_the_values_and_at_least_that_share_is_no_greater(values, share):
    """Whatever they are."""
    ordered = sorted(values)
    found = percentile(ordered, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


def test_a_round_counts_good_answers_and_kinds_of_errors():
    """Errors have no part in the times; rates are over the whole time."""
    good = [Sample(0.1 * n, 1.0 * n, (0.01, 0.03), 10) for n in (1, 2)]
    found = summarise(4, [*good, Sample(error="cut"), Sample(error="http_500")], 2.0)
    assert (found.concurrency, found.requests, found.failures) == (4, 4, 2)
    assert found.errors == {"cut": 1, "http_500": 1}
    assert found.first_token_ms == Spread(100.0, 200.0, 200.0, 200.0)
    assert found.gap_ms == Spread(10.0, 30.0, 30.0, 30.0)
    assert found.total_ms == Spread(1000.0, 2000.0, 2000.0, 2000.0)
    assert (found.tokens_per_second, found.requests_per_second) == (10.0, 1.0)


def test_a_round_of_failures_has_no_times():
    """Unknown is not zero."""
    found = summarise(1, [Sample(error="cut")], 0.0)
    assert (found.first_token_ms, found.gap_ms, found.total_ms) == (None, None, None)
    assert (found.tokens_per_second, found.requests_per_second) == (0.0, 0.0)


def test_a_round_is_json():
    """Key by key."""
    found = project_round(summarise(1, [Sample(0.1, 1.0, (), 3)], 1.0))
    assert found["first_token_ms"] == {"p50": 100.0, "p90": 100.0, "p99": 100.0, "most": 100.0}
    assert (found["gap_ms"], found["errors"]) == (None, {})
