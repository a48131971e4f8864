"""One table of refusals and failures, in fixed words."""

import pytest

from anvil_trio.errors import Code, UpstreamFailed, problem, retry_after_bounded


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_a_status_and_words(code):
    """Each code of the vocabulary stands for an HTTP error with a family and fixed words."""
    what = problem(code)
    assert what.code is code
    assert 400 <= what.status <= 599
    assert what.type
    assert what.message.endswith(".")


@pytest.mark.parametrize(
    ("seconds", "bounded"), [(None, 1), (-5, 1), (0, 1), (1, 1), (60, 60), (3600, 60)]
)
def test_retry_after_is_1_to_60_seconds(seconds, bounded):
    """A caller is never told to come back at once, nor in an hour."""
    assert retry_after_bounded(seconds) == bounded


def test_a_code_without_retry_after_never_gets_one():
    """Where coming back does not help, an upstream's Retry-After is not passed on."""
    assert problem(Code.INVALID_REQUEST, retry_after_s=7).retry_after_s is None
    assert problem(Code.UPSTREAM_RATE_LIMITED, retry_after_s=7).retry_after_s == 7


def test_words_and_status_may_be_replaced():
    """The operator's status and a field's own words take the place of the table's."""
    what = problem(Code.SERVICE_UNAVAILABLE, status=529, message="Not now.", param="tools")
    assert (what.status, what.message, what.param) == (529, "Not now.", "tools")


def test_a_failure_carries_its_problem_and_says_only_its_code():
    """R012: the exception's own text is the code, so no log line can show more."""
    failure = UpstreamFailed(problem(Code.IDLE_TIMEOUT))
    assert str(failure) == "idle_timeout"
    assert failure.problem.status == 504
