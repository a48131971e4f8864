"""What an answer of a gateway means for each check."""

from dataclasses import replace

import pytest

from anvil_trio.conform import judges
from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.reply import Reply, Trouble
from anvil_trio.conform.verdict import Outcome
from anvil_trio.conform.voices import CHAT, MESSAGES, RESPONSES
from tests.support.answers import (
    CHAT_EVENTS,
    COUNTS,
    SSE,
    anthropic_error,
    chat_reply,
    chunk,
    events,
    json_reply,
    openai_error,
)
from tests.unit.conform.streams import MESSAGES_STREAM

ROLE, *_, STOP = CHAT_EVENTS
GOOD = events(*CHAT_EVENTS)
CALL = {
    "index": 0,
    "id": "a",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'},
}
PASSED, FAILED, NONE = Outcome


def test_a_plain_answer_must_say_something():
    """An empty one fails."""
    assert judges.judge_plain(json_reply(chat_reply()), CHAT).outcome is PASSED
    with pytest.raises(GrammarError):
        judges.judge_plain(json_reply(chat_reply("")), CHAT)


def test_a_stream_must_have_exactly_one_end_and_say_something():
    """None, two, and a silent one fail."""
    assert judges.judge_stream(GOOD, CHAT).outcome is PASSED
    for bad in (
        events(*CHAT_EVENTS, end=""),
        events(*CHAT_EVENTS, end="data: [DONE]\n\n" * 2),
        events(ROLE, STOP),
        events(*CHAT_EVENTS[:-1]),
        events(*CHAT_EVENTS[:-1], {"error": {"type": "a", "message": "b"}}, end=""),
    ):
        with pytest.raises(GrammarError):
            judges.judge_stream(bad, CHAT)


def test_messages_and_responses_without_an_end_fail_too():
    """Each by its own grammar."""
    good = Reply(200, SSE, MESSAGES_STREAM)
    assert judges.judge_stream(good, MESSAGES).outcome is PASSED
    cut = MESSAGES_STREAM[: MESSAGES_STREAM.index(b"event: message_stop")]
    with pytest.raises(GrammarError, match="no end"):
        judges.judge_stream(replace(good, body=cut), MESSAGES)
    with pytest.raises(GrammarError):
        judges.judge_stream(good, RESPONSES)


def test_a_limit_is_told_or_was_not_met():
    """A stop below the limit says nothing about it."""
    cut = events(ROLE, chunk({"content": "Hi"}), chunk({}, "length"))
    assert judges.judge_limit(cut, CHAT).outcome is PASSED
    assert judges.judge_limit(GOOD, CHAT).outcome is NONE


def test_counts_come_for_who_asks_and_for_nobody_else():
    """Both ways of getting it wrong fail."""
    counted = events(*CHAT_EVENTS, COUNTS)
    assert judges.judge_counts(counted, GOOD, CHAT).outcome is PASSED
    for asked, unasked in ((GOOD, GOOD), (counted, counted)):
        with pytest.raises(GrammarError):
            judges.judge_counts(asked, unasked, CHAT)


def test_a_streamed_call_is_whole():
    """One that a limit cut, one that was not made and one that is refused prove nothing."""
    whole = events(chunk({"role": "assistant", "tool_calls": [CALL]}), chunk({}, "tool_calls"))
    assert judges.judge_call(whole, CHAT).outcome is PASSED
    cut = events(chunk({"role": "assistant", "tool_calls": [CALL]}), chunk({}, "length"))
    assert judges.judge_call(cut, CHAT).outcome is NONE
    assert judges.judge_call(GOOD, CHAT).outcome is NONE
    assert judges.judge_call(openai_error(503), CHAT).outcome is NONE


def test_a_bad_refusal_of_tools_fails():
    """It must be in the dialect's shape, whatever it says."""
    with pytest.raises(GrammarError):
        judges.judge_call(json_reply({"error": {"type": "", "message": ""}}, 400), CHAT)
    with pytest.raises(GrammarError):
        judges.judge_call(Reply(trouble=Trouble.TIMED_OUT), CHAT)


def test_a_call_with_cut_arguments_fails():
    """As JSON that is none, and as JSON that is no object."""
    for arguments in ('{"city"', "1"):
        call = {**CALL, "function": {"name": "f", "arguments": arguments}}
        bad = events(chunk({"role": "assistant", "tool_calls": [call]}), chunk({}, "tool_calls"))
        with pytest.raises(GrammarError):
            judges.judge_call(bad, CHAT)


def test_heartbeats_are_comments():
    """How many came is told; none is no verdict."""
    beaten = b": beat\n" + GOOD.body.replace(b"\n\n", b"\n\n:\n", 1)
    verdict = judges.judge_beats(beaten, CHAT)
    assert (verdict.outcome, dict(verdict.facts)) == (PASSED, {"seen": 2})
    assert judges.judge_beats(GOOD.body, CHAT).outcome is NONE


@pytest.mark.parametrize(
    "beat",
    [
        b"event: ping\ndata: {}\n\n",
        b'data: {"type": "ping"}\n\n',
        b"event: keepalive\n\n",
        b"event: other\n\n",
        b"data:\n\n",
    ],
)
def test_a_heartbeat_that_is_an_event_breaks_clients(beat):
    """In Chat and Responses; Messages have pings."""
    stream = beat + GOOD.body
    assert judges.judge_beats(stream, CHAT).outcome is FAILED
    assert judges.judge_beats(stream.replace(b"\n", b"\r\n"), RESPONSES).outcome is FAILED
    assert judges.judge_beats(stream, MESSAGES).outcome is NONE


def test_streams_must_have_begun_before_they_can_be_left():
    """And the request after them is answered well."""
    after = json_reply(chat_reply())
    assert dict(judges.judge_left(8, after, CHAT).facts) == {"streams_left": 8}
    for left, reply in ((0, after), (8, openai_error(503))):
        with pytest.raises(GrammarError):
            judges.judge_left(left, reply, CHAT)


@pytest.mark.parametrize(
    ("reply", "voice", "outcome"),
    [
        (openai_error(400), CHAT, PASSED),
        (openai_error(422), CHAT, FAILED),
        (openai_error(400), MESSAGES, FAILED),
        (anthropic_error(400), MESSAGES, PASSED),
        (Reply(400, body=b"<html>"), CHAT, FAILED),
        (json_reply({"error": "No."}, 400), CHAT, FAILED),
        (openai_error(400, message="Your key is s3cret."), CHAT, FAILED),
    ],
)
def test_a_refusal_has_its_status_and_shape_and_no_key(reply, voice, outcome):
    """Each of the three can be wrong by itself."""
    assert judges.judge_refusal(reply, voice, {400}, secret=b"s3cret").outcome is outcome


def test_a_refusal_that_never_came_is_told_by_its_trouble():
    """A connection that broke has no status to be judged; one that broke after it has."""
    with pytest.raises(GrammarError, match="broke"):
        judges.judge_refusal(Reply(trouble=Trouble.BROKEN), CHAT, {400})
    late = replace(openai_error(413), trouble=Trouble.BROKEN)
    assert judges.judge_refusal(late, CHAT, {413}).outcome is PASSED


def test_a_wrong_method_is_told_which_is_right():
    """405 and `Allow: POST`, in the dialect's shape."""
    assert judges.judge_method(openai_error(405, (b"allow", b"POST")), CHAT).outcome is PASSED
    assert judges.judge_method(openai_error(405), CHAT).outcome is FAILED
    assert judges.judge_method(openai_error(404), CHAT).outcome is FAILED


def test_a_dialect_is_not_spoken_where_nothing_is():
    """404, 405 and 501 say so; a refusal of another kind does not."""
    assert [judges.has_no_such_dialect(openai_error(n)) for n in (404, 405, 501, 400, 503)] == [
        True,
        True,
        True,
        False,
        False,
    ]
