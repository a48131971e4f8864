"""What a probe's answers mean, one rule at a time."""

import json

import pytest

from anvil_trio.facts import Answer, Silence, Verdict
from anvil_trio.readiness.verdict import (
    PENDING,
    Finding,
    Standing,
    judge_health,
    judge_identity,
    settle,
    with_age,
)
from tests.unit.upstream.captured import captured

GOOD = Finding(Verdict(is_ready=True, reason="identity_passed", observed_model="tiny"))
BAD = Finding(Verdict(is_ready=False, reason="health_http_503"))
TIMEOUT = Finding(Verdict(is_ready=False, reason="health_transport"), is_timeout=True)


def listing(*names: object) -> bytes:
    """A body of `/v1/models` with these ids."""
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


@pytest.mark.parametrize("status", [200, 204, 301, 302, 399])
def test_any_2xx_or_3xx_is_healthy(status):
    """Health is the status alone, whatever the body."""
    found = judge_health(Answer(status))
    assert found == Finding(Verdict(is_ready=True, reason="health_passed"))


@pytest.mark.parametrize("status", [199, 400, 401, 404, 429, 500, 503])
def test_any_other_health_status_is_unready_at_once(status):
    """One bad health answer is proof, and its code is named."""
    found = judge_health(Answer(status))
    assert found == Finding(Verdict(is_ready=False, reason=f"health_http_{status}"))


def test_a_broken_connection_is_proof_and_a_timeout_is_not():
    """Only timeouts need several in a row."""
    broken, late = judge_health(Silence.BROKEN), judge_health(Silence.TIMED_OUT)
    assert broken.verdict == late.verdict == Verdict(is_ready=False, reason="health_transport")
    assert (broken.is_timeout, late.is_timeout) == (False, True)


@pytest.mark.parametrize("silence", Silence)
def test_a_silent_identity_question_has_a_reason_of_its_own(silence):
    """A fault of the second call is `identity_transport`, whatever it was."""
    found = judge_identity(silence, "tiny")
    assert found.verdict.reason == "identity_transport"
    assert found.is_timeout is (silence is Silence.TIMED_OUT)


@pytest.mark.parametrize("engine", ["llamacpp", "vllm", "sglang"])
def test_each_engines_own_listing_passes(engine):
    """R007: what the real engines answer shows the model they serve."""
    body = captured(f"{engine}-models").partition(b"\r\n\r\n")[2]
    verdict = judge_identity(Answer(200, body), "tiny").verdict
    assert verdict == Verdict(is_ready=True, reason="identity_passed", observed_model="tiny")


def test_the_expected_model_may_stand_anywhere_in_the_listing():
    """An engine that serves several names passes if one of them is ours."""
    assert judge_identity(Answer(200, listing("a", "tiny")), "tiny").verdict.is_ready


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (listing("other-secret-model"), "identity_mismatch"),
        (listing("Tiny"), "identity_mismatch"),
        (listing("tiny "), "identity_mismatch"),
        (listing(), "identity_missing"),
        (None, "identity_oversized"),
        (b"", "identity_malformed"),
        (b"\xff\xfe", "identity_malformed"),
        (b'{"data":[{"id":"\xff"}]}', "identity_malformed"),
        (b"[" * 100_000, "identity_malformed"),
        (b"[]", "identity_malformed"),
        (b"{}", "identity_malformed"),
        (b'{"data":{"id":"tiny"}}', "identity_malformed"),
        (b'{"data":["tiny"]}', "identity_malformed"),
        (b'{"data":[{"name":"tiny"}]}', "identity_malformed"),
        (listing("tiny", 5), "identity_malformed"),
        (listing("tiny") + b"x", "identity_malformed"),
    ],
)
def test_a_wrong_identity_is_unready_at_once_and_never_kept(body, reason):
    """R012: a name that was not expected leaves a fixed reason and nothing of itself."""
    found = judge_identity(Answer(200, body), "tiny")
    assert found == Finding(Verdict(is_ready=False, reason=reason))


@pytest.mark.parametrize("status", [301, 401, 404, 500])
def test_identity_needs_a_2xx(status):
    """A redirect or an error shows no identity, even with the right body."""
    found = judge_identity(Answer(status, listing("tiny")), "tiny")
    assert found.verdict.reason == f"identity_http_{status}"


def test_an_answer_settles_at_its_moment_and_forgets_timeouts():
    """A good or bad answer holds at once, and timeouts are counted anew."""
    standing = settle(Standing(timeouts=1), GOOD, failures=2, now=7.0)
    assert standing == Standing(Verdict(True, "identity_passed", "tiny", 7.0), timeouts=0)
    standing = settle(standing, BAD, failures=2, now=9.0)
    assert standing == Standing(Verdict(False, "health_http_503", None, 9.0), timeouts=0)


def test_timeouts_count_only_in_a_row():
    """Before the last of them the verdict that was there stays, with its age."""
    standing = settle(Standing(), GOOD, failures=3, now=1.0)
    for now in (2.0, 3.0):
        standing = settle(standing, TIMEOUT, failures=3, now=now)
        assert standing.verdict == Verdict(True, "identity_passed", "tiny", 1.0)
    standing = settle(standing, TIMEOUT, failures=3, now=4.0)
    assert standing.verdict == Verdict(False, "health_transport", None, 4.0)


def test_a_first_timeout_says_nothing():
    """A member that never answered stays pending until there were enough timeouts."""
    assert settle(Standing(), TIMEOUT, failures=2, now=1.0) == Standing(PENDING, timeouts=1)


def test_one_timeout_is_enough_where_the_operator_says_so():
    """`availability_failures = 1` ends readiness with the first timeout."""
    assert not settle(Standing(), TIMEOUT, failures=1, now=1.0).verdict.is_ready


def test_a_verdict_counts_until_it_is_too_old():
    """An old result says that nothing is known, and still when it was found."""
    verdict = Verdict(True, "identity_passed", "tiny", 10.0)
    assert with_age(verdict, max_age_s=5.0, now=14.9) == verdict
    assert with_age(verdict, max_age_s=5.0, now=15.0) == Verdict(False, "probe_pending", None, 10.0)
    assert with_age(PENDING, max_age_s=5.0, now=99.0) == PENDING
