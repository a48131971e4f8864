"""What an engine's answers mean for the router that will depend on it."""

from dataclasses import replace

import pytest

from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.reply import Reply, Trouble
from anvil_trio.conform.said import Counts, Finish, Said, ToolCall
from anvil_trio.conform.verdict import Outcome
from anvil_trio.evals import judges
from anvil_trio.facts import Answer, Silence
from anvil_trio.signals.engines import LLAMACPP, VLLM
from tests.support.answers import json_reply, openai_error

PASSED, FAILED, NONE = Outcome
SAID = Said("m", "Hi.", Finish.STOP, counts=Counts(5, 2, 7))
CALL = ToolCall("a", "get_weather", '{"city":"Rome"}')
CALLED = replace(SAID, text="", finish=Finish.CALLS, calls=(CALL,))
OK = json_reply({})
METRICS = b"vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n"


def test_answers_are_seen_as_the_prober_sees_them():
    """A late one is a timeout, any other that is not whole a break."""
    assert judges.as_probed(Reply(trouble=Trouble.TIMED_OUT)) is Silence.TIMED_OUT
    assert judges.as_probed(Reply(trouble=Trouble.REFUSED)) is Silence.BROKEN
    assert judges.as_probed(Reply(200, trouble=Trouble.BROKEN)) is Silence.BROKEN
    assert judges.as_probed(OK) == Answer(200, b"{}")


def test_a_health_path_becomes_a_setting():
    """Without one the check fails, and says what was seen last."""
    assert judges.judge_health("/health", OK).settings == {"health_path": "/health"}
    verdict = judges.judge_health(None, json_reply({}, 503))
    assert (verdict.outcome, dict(verdict.facts)) == (FAILED, {"seen": "health_http_503"})


def test_the_list_must_name_the_model():
    """Its context, where it is stated, becomes a setting."""
    listed = json_reply({"data": [{"id": "x"}, {"id": "m", "max_model_len": 100}]})
    verdict = judges.judge_identity(listed, "m")
    assert verdict.settings == {"model_identity": True, "context_limit": 100}
    bare = judges.judge_identity(json_reply({"data": [{"id": "m"}]}), "m")
    assert bare.settings == {"model_identity": True}
    other = judges.judge_identity(listed, "y")
    assert (other.outcome, dict(other.facts)) == (FAILED, {"seen": "identity_mismatch"})


@pytest.mark.parametrize(
    ("body", "context"),
    [
        (b"[]", None),
        (b'{"data": 1}', None),
        (b'{"data": [1, {"id": "m"}]}', None),
        (b'{"data": [{"id": "x", "max_model_len": 5}]}', None),
        (b'{"data": [{"id": "m", "max_model_len": 0, "context_length": 9}]}', 9),
        (b'{"data": [{"id": "m", "max_context_length": 8}]}', 8),
        (b'{"data": [{"id": "m", "max_model_len": true}]}', None),
        (b'{"data": [{"id": "m", "max_model_len": 1e9}]}', None),
        (b'{"data": [{"id": "m", "max_model_len": 16777216}]}', 16_777_216),
        (b'{"data": [{"id": "m", "max_model_len": 16777217}]}', None),
    ],
)
def test_a_context_is_taken_from_the_models_own_entry(body, context):
    """Under any of the three names engines have for it."""
    assert judges.context_of(body, "m") == context


@pytest.mark.parametrize("judge", [judges.judge_whole, judges.judge_streamed])
def test_an_answer_must_say_something_and_name_its_model(judge):
    """Thoughts are something."""
    assert judge(SAID, "m").outcome is PASSED
    assert judge(replace(SAID, text="", thinking="hm"), "m").outcome is PASSED
    assert judge(replace(SAID, text=""), "m").outcome is FAILED
    assert judge(SAID, "other").outcome is FAILED


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [(Finish.STOP, PASSED), (Finish.LENGTH, NONE), (Finish.CALLS, FAILED), (Finish.OTHER, FAILED)],
)
def test_an_answer_that_ends_by_itself_says_stop(finish, outcome):
    """One that met the limit proves nothing."""
    assert judges.judge_ended(replace(SAID, finish=finish)).outcome is outcome


@pytest.mark.parametrize(
    ("completion", "outcome"), [(4, PASSED), (3, PASSED), (5, PASSED), (2, FAILED), (6, FAILED)]
)
def test_a_cut_answer_counts_its_limit(completion, outcome):
    """Give or take the one token that may end it."""
    cut = replace(SAID, finish=Finish.LENGTH, counts=Counts(5, completion))
    assert judges.judge_length(cut, 4).outcome is outcome


def test_a_cut_answer_must_say_so():
    """Its counts are another check's affair; a stop proves nothing."""
    assert (
        judges.judge_length(replace(SAID, finish=Finish.LENGTH, counts=None), 4).outcome is PASSED
    )
    assert judges.judge_length(SAID, 4).outcome is NONE
    with pytest.raises(GrammarError):
        judges.judge_length(replace(SAID, finish=Finish.OTHER), 4)


def test_whole_and_streamed_counts_agree():
    """The completions may differ; the prompt is one."""
    other = replace(SAID, counts=Counts(5, 9, 14))
    verdict = judges.judge_counts(SAID, other, 10)
    assert (verdict.outcome, dict(verdict.facts)) == (PASSED, {"prompt_tokens": 5})
    assert judges.judge_counts(SAID, replace(SAID, counts=Counts(6, 2, 8)), 10).outcome is FAILED
    assert judges.judge_counts(SAID, replace(SAID, counts=None), 10).outcome is FAILED
    assert judges.judge_counts(replace(SAID, counts=None), SAID, 10).outcome is FAILED


@pytest.mark.parametrize(
    "counts", [Counts(0, 2, 2), Counts(5, 0, 5), Counts(5, 12, 17), Counts(5, 2, 8)]
)
def test_counts_that_cannot_be_fail(counts):
    """Nothing read, nothing written, more than allowed, a wrong sum: whole or streamed."""
    for pair in ((SAID, replace(SAID, counts=counts)), (replace(SAID, counts=counts), SAID)):
        with pytest.raises(GrammarError):
            judges.judge_counts(*pair, 10)


def test_counts_without_a_sum_are_good():
    """Messages have none."""
    bare = replace(SAID, counts=Counts(5, 11))
    assert judges.judge_counts(bare, bare, 10).outcome is PASSED


def test_a_call_must_fit_what_was_offered():
    """Then, and only then, the tier has tools."""
    verdict = judges.judge_call(OK, CALLED)
    assert (verdict.outcome, verdict.settings) == (PASSED, {"tool_support": True})
    for arguments in ("{", "1", "{}", '{"city": 1}'):
        bad = replace(CALLED, calls=(CALL, replace(CALL, arguments=arguments)))
        verdict = judges.judge_call(OK, bad)
        assert (verdict.outcome, verdict.settings) == (FAILED, {"tool_support": False})


@pytest.mark.parametrize("call", [replace(CALL, id=""), replace(CALL, name="other")])
def test_a_call_without_id_or_of_another_tool_fails(call):
    """Nothing could be done with it."""
    with pytest.raises(GrammarError):
        judges.judge_call(OK, replace(CALLED, calls=(call,)))


@pytest.mark.parametrize("said", [None, SAID, replace(CALLED, finish=Finish.LENGTH)])
def test_without_a_whole_call_a_tier_has_no_tools(said):
    """Refused, not made, or cut: none of them is a fault."""
    verdict = judges.judge_call(openai_error(400), said)
    assert (verdict.outcome, verdict.settings) == (NONE, {"tool_support": False})


def test_a_tools_result_is_answered():
    """In text or in another call."""
    assert judges.judge_result_turn(SAID).outcome is PASSED
    assert judges.judge_result_turn(CALLED).outcome is PASSED
    with pytest.raises(GrammarError):
        judges.judge_result_turn(replace(SAID, text=""))


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (None, NONE),
        (SAID, NONE),
        (replace(SAID, thinking="hm", thinking_field="reasoning"), PASSED),
        (replace(SAID, text="<think>hm</think>Hi."), FAILED),
    ],
)
def test_thoughts_have_a_field_of_their_own(said, outcome):
    """Within the text they are a fault; none at all are not."""
    verdict = judges.judge_thinking(OK, said)
    assert verdict.outcome is outcome
    assert verdict.facts.get("field") == ("reasoning" if outcome is PASSED else None)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [('{"city":"Rome"}', PASSED), ('{"city":1}', FAILED), ("It is Rome.", FAILED)],
)
def test_an_answer_fits_its_schema(text, outcome):
    """Prose and another kind of value do not."""
    assert judges.judge_schema(OK, replace(SAID, text=text)).outcome is outcome


def test_a_schema_may_be_refused_or_cut():
    """Neither is a fault."""
    assert judges.judge_schema(openai_error(400), None).outcome is NONE
    assert judges.judge_schema(OK, replace(SAID, finish=Finish.LENGTH)).outcome is NONE


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (json_reply({"error": {"code": "context_length_exceeded"}}, 400), PASSED),
        (json_reply({"error": {"message": "prompt is too long"}}, 413), PASSED),
        (openai_error(400), FAILED),
        (json_reply({}), FAILED),
        (json_reply({"error": {"code": "context_length_exceeded"}}, 500), FAILED),
    ],
)
def test_a_prompt_above_the_context_is_refused_in_known_words(reply, outcome):
    """Answering it, failing on it and other words are faults."""
    assert judges.judge_overflow(reply).outcome is outcome


def test_a_prompt_above_the_context_must_be_answered_at_all():
    """A connection that breaks has no words."""
    with pytest.raises(GrammarError):
        judges.judge_overflow(Reply(trouble=Trouble.BROKEN))


@pytest.mark.parametrize(
    ("open_s", "ways", "outcome", "settings"),
    [
        (6.0, {"is_open": True, "is_kept": True}, PASSED, {}),
        (5.0, {"is_open": False, "is_kept": True}, PASSED, {}),
        (3.0, {"is_open": False, "is_kept": True}, PASSED, {"upstream_keepalive_s": 2.0}),
        (0.5, {"is_open": False, "is_kept": True}, PASSED, {"upstream_keepalive_s": 0.0}),
        (0.4, {"is_open": False, "is_kept": True}, FAILED, {"upstream_keepalive_s": 0.0}),
        (0.0, {"is_open": False, "is_kept": False}, FAILED, {"upstream_keepalive_s": 0.0}),
    ],
)
def test_how_long_an_idle_connection_lives_becomes_a_setting(open_s, ways, outcome, settings):
    """Where it is shorter than what the router takes without one, a second less than it lives."""
    verdict = judges.judge_keepalive(open_s, **ways, default_s=4.0)
    assert (verdict.outcome, verdict.settings) == (outcome, settings)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (METRICS, VLLM),
        (b"llamacpp:requests_processing 0\n", LLAMACPP),
        (b"other 1\n", None),
        (b"vllm:num_requests_running x\n", None),
    ],
)
def test_metrics_name_their_engine(text, family):
    """By the names of their series."""
    found = judges.family_of(text, "m")
    assert (found and found[0]) is family


def test_metrics_become_a_setting():
    """Half of them are a fault, other ones and none are not."""
    reply = Reply(200, body=METRICS)
    verdict = judges.judge_metrics(reply, "m")
    assert (verdict.settings, dict(verdict.facts)) == ({"engine": "vllm"}, {"kv": False})
    full = replace(reply, body=METRICS + b"vllm:kv_cache_usage_perc 0.5\n")
    assert judges.judge_metrics(full, "m").facts == {"kv": True}
    half = replace(reply, body=b"vllm:num_requests_running 1\n")
    assert judges.judge_metrics(half, "m").outcome is FAILED
    assert judges.judge_metrics(replace(reply, body=b"x 1\n"), "m").outcome is NONE
    assert judges.judge_metrics(openai_error(404), "m").outcome is NONE
    for bad in (openai_error(500), Reply(trouble=Trouble.TIMED_OUT)):
        with pytest.raises(GrammarError):
            judges.judge_metrics(bad, "m")


@pytest.mark.parametrize(
    ("before", "during", "after", "outcome"),
    [(0, 1, 0, PASSED), (0, 0, 0, FAILED), (2, 3, 3, FAILED)],
)
def test_an_engines_count_rises_and_falls(before, during, after, outcome):
    """A count that never rose says nothing of what it fell to."""
    assert judges.judge_running(before, during, after, 0.123).outcome is outcome


@pytest.mark.parametrize(
    ("reply", "is_refused"),
    [
        (openai_error(400), True),
        (openai_error(501), True),
        (openai_error(500), False),
        (json_reply({}), False),
        (Reply(), False),
        (Reply(400, trouble=Trouble.BROKEN), False),
    ],
)
def test_a_request_may_be_refused(reply, is_refused):
    """By the engine's word, never by its silence or failure."""
    assert judges.is_refused(reply) is is_refused
