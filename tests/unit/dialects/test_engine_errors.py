"""What callers are told of an engine's error."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.errors import Code, problem, status_problem

SECRET = "File /models/private at host internal-9"


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_refusal_keeps_its_status(status: int):
    """What the engine found wrong with the request stays the caller's to mend."""
    what = status_problem(status)
    assert (what.status, what.code) == (status, Code.UPSTREAM_REFUSED)


@pytest.mark.parametrize("status", [301, 401, 403, 404, 409, 500, 502, 504])
def test_other_statuses_are_the_routers_502(status: int):
    """An engine's 401 is not about the caller's key, nor its 404 about the caller's path."""
    assert status_problem(status) == problem(Code.UPSTREAM_ERROR)


@pytest.mark.parametrize(
    ("status", "as_status", "code"),
    [
        (429, 429, Code.UPSTREAM_RATE_LIMITED),
        (503, 503, Code.UPSTREAM_OVERLOADED),
        (529, 503, Code.UPSTREAM_OVERLOADED),
    ],
)
def test_a_busy_engine_is_passed_on_with_a_bounded_wait(status: int, as_status: int, code: Code):
    """`Retry-After` is 1..60 seconds, 1 when the engine names none."""
    assert (status_problem(status).status, status_problem(status).code) == (as_status, code)
    waits = [status_problem(status, seconds).retry_after_s for seconds in (None, 7, 9999, -1)]
    assert waits == [1, 7, 60, 1]


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"code": 400, "message": SECRET}},
        {"error": {"code": "400", "message": SECRET}},
        {"object": "error", "message": SECRET, "code": 400},
    ],
)
def test_an_error_object_in_a_200_counts_as_its_own_code(error: dict[str, Any]):
    """In both shapes, as a number or as digits; nothing of its words is kept."""
    what = error_problem(json.dumps(error).encode())
    assert what == problem(Code.UPSTREAM_REFUSED, status=400)


@pytest.mark.parametrize(
    "error",
    [
        {"error": SECRET},
        {"error": {"code": 200}},
        {"error": {"code": 4000}},
        {"error": {"code": True}},
        {"error": {"code": "internal"}},
        {"error": {"code": "²"}},
        {"error": [SECRET]},
        {"error": 7},
        {},
        [],
    ],
)
def test_an_error_object_without_a_usable_code_is_a_502(error: object):
    """Whatever its shape."""
    assert error_problem(json.dumps(error).encode()) == problem(Code.UPSTREAM_ERROR)


def test_a_body_that_is_no_json_leaves_the_status_to_decide():
    """An HTML error page of a 400 is a 400."""
    assert error_problem(b"<html>", 400) == problem(Code.UPSTREAM_REFUSED, status=400)
    assert error_problem(b"[" * 100_000, 429, 5).retry_after_s == 5


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "request (9 ..."}},
        {"error": {"message": "This model's maximum context length is 8", "code": 400}},
        {"error": {"code": "context_length_exceeded"}},
        {"object": "error", "message": "is longer than the model's context length (8", "code": 400},
    ],
)
def test_an_overflow_of_the_context_is_told_apart(error: dict[str, Any]):
    """As each engine words it, whether in an HTTP 400 or not."""
    expected = problem(Code.CONTEXT_LENGTH_EXCEEDED, param="messages")
    assert error_problem(json.dumps(error).encode()) == expected
    assert error_problem(json.dumps(error).encode(), 400) == expected


def test_a_crash_that_speaks_of_the_context_is_still_a_crash():
    """Only a refusal can be an overflow."""
    error = b'{"error":{"message":"maximum context length","code":500}}'
    assert error_problem(error) == problem(Code.UPSTREAM_ERROR)
