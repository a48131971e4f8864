"""What the caller is told of an upstream's faults."""

import httpx
import pytest

from anvil_trio.errors import Code
from anvil_trio.upstream.failures import error_problem, upstream_failed
from tests.unit.upstream.captured import captured


@pytest.mark.parametrize("kind", [httpx.ConnectTimeout, httpx.WriteTimeout])
def test_a_dispatch_that_took_too_long_is_a_504(kind):
    """Connecting and writing have a deadline, and missing it is told as a timeout."""
    problem = upstream_failed(kind("secret words")).problem
    assert (problem.status, problem.code) == (504, Code.CONNECT_TIMEOUT)


@pytest.mark.parametrize(
    "kind",
    [
        httpx.ConnectError,
        httpx.WriteError,
        httpx.ReadError,
        httpx.ReadTimeout,
        httpx.RemoteProtocolError,
        httpx.LocalProtocolError,
        httpx.DecodingError,
    ],
)
def test_every_other_fault_is_a_502_without_its_words(kind):
    """R012: a refused or broken connection and a malformed reply are one fixed 502."""
    failure = upstream_failed(kind("secret words"))
    assert (failure.problem.status, failure.problem.code) == (502, Code.UPSTREAM_ERROR)
    assert "secret" not in failure.problem.message + str(failure)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, 400),
        (413, 413),
        (415, 415),
        (422, 422),
        (301, 502),
        (401, 502),
        (403, 502),
        (404, 502),
        (409, 502),
        (418, 502),
        (429, 429),
        (500, 502),
        (502, 502),
        (503, 503),
        (504, 502),
        (529, 503),
        (999, 502),
    ],
)
def test_each_upstream_status_has_one_meaning(status, told):
    """Refusals keep their status, load is passed on, everything else is our 502."""
    assert error_problem(status, (), b"the engine's own words").status == told


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (b"7", 7),
        (b" 60 ", 60),
        (b"0", 1),
        (b"3600", 60),
        (b"99999999999999999999", 1),
        (b"-1", 1),
        (b"1.5", 1),
        (b"Mon, 30 Nov 2026 01:00:00 GMT", 1),
        (b"", 1),
    ],
)
@pytest.mark.parametrize("status", [429, 503, 529])
def test_retry_after_is_bounded_seconds(status, header, told):
    """A Retry-After in seconds is kept within 1..60; a date or nonsense counts as 1."""
    headers = ((b"content-type", b"text/plain"), (b"retry-after", header))
    assert error_problem(status, headers, b"").retry_after_s == told


def test_other_statuses_carry_no_retry_after():
    """Only a busy upstream has the caller come back by the clock."""
    assert error_problem(500, ((b"retry-after", b"7"),), b"").retry_after_s is None


@pytest.mark.parametrize("engine", ["llamacpp", "vllm", "sglang"])
def test_each_engines_context_overflow_is_recognised(engine):
    """A prompt that an engine refuses for its length is told as a context overflow."""
    body = captured(f"{engine}-too-long").partition(b"\r\n\r\n")[2]
    problem = error_problem(400, (), body)
    assert (problem.status, problem.code) == (400, Code.CONTEXT_LENGTH_EXCEEDED)
    assert "tokens" not in problem.message


@pytest.mark.parametrize("body", [b"", b"\xff", b"[" * 50_000, b"5", b'{"error":{"message":"no"}}'])
def test_any_other_body_leaves_the_status_to_decide(body):
    """A body that is empty, malformed or about something else is a plain refusal."""
    assert error_problem(400, (), body).code is Code.UPSTREAM_REFUSED
