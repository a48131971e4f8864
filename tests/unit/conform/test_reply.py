"""What an answer is, whatever became of it."""

from dataclasses import replace

import pytest

from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.reply import Reply, Trouble, body_of, expect_ok, stream_of
from anvil_trio.conform.verdict import Outcome, StatusFault, judge_fault
from tests.support.answers import CHAT_EVENTS, events, json_reply


def test_a_whole_answer_gives_its_object():
    """And its headers by their lower-case names."""
    reply = json_reply({"a": 1})
    assert body_of(reply) == {"a": 1}
    assert reply.header(b"content-type") == b"application/json"
    assert reply.header(b"allow") == b""


@pytest.mark.parametrize("trouble", Trouble)
def test_each_trouble_has_its_words(trouble):
    """They are different, and hold nothing of the server's."""
    with pytest.raises(GrammarError) as told:
        expect_ok(Reply(200, body=b"secret", trouble=trouble))
    verdict = judge_fault(told.value)
    assert verdict.outcome is Outcome.FAILED
    assert "secret" not in verdict.reason
    others = [one for one in Trouble if one is not trouble]
    assert all(words_of(one) != str(told.value) for one in others)


def words_of(trouble):
    """What is said of a trouble."""
    with pytest.raises(GrammarError) as told:
        expect_ok(Reply(trouble=trouble))
    return str(told.value)


def test_another_status_is_told_by_its_number():
    """As a fact beside fixed words."""
    with pytest.raises(StatusFault) as told:
        body_of(json_reply({}, 503))
    verdict = judge_fault(told.value)
    assert (dict(verdict.facts), verdict.reason) == (
        {"status": 503},
        "The answer has another status than it should.",
    )


def test_the_words_of_a_fault_become_a_sentence():
    """A capital in front, one full stop behind."""
    assert judge_fault(GrammarError("the stream has no end")).reason == "The stream has no end."


def test_a_streams_line_ends_are_made_one_kind():
    """CR LF is as good as LF."""
    reply = events(*CHAT_EVENTS)
    broken = replace(reply, body=reply.body.replace(b"\n", b"\r\n"))
    assert stream_of(broken) == reply.body


def test_a_stream_that_broke_keeps_its_events():
    """So the grammar can say what it lacks; one that is late is late and nothing more."""
    cut = events(*CHAT_EVENTS, end="", trouble=Trouble.BROKEN)
    assert stream_of(cut).endswith(b"\n\n")
    with pytest.raises(GrammarError, match="in time"):
        stream_of(replace(cut, trouble=Trouble.TIMED_OUT))


@pytest.mark.parametrize(
    "reply", [json_reply({}), json_reply({}, 500), Reply(trouble=Trouble.REFUSED)]
)
def test_what_is_no_stream_is_refused(reply):
    """JSON, another status, nothing at all."""
    with pytest.raises(GrammarError):
        stream_of(reply)
