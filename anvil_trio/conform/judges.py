"""What an answer of a gateway means for each check: replies in, verdicts out. Pure.

A reader raises GrammarError for an answer that is not what its dialect says; the runner turns it
into a failure of the check in whose course it came.
"""

from collections.abc import Collection

from anvil_trio.conform.grammar import GrammarError, must, parse_object
from anvil_trio.conform.reply import Reply, body_of, expect_ok, stream_of
from anvil_trio.conform.said import Finish, Said
from anvil_trio.conform.verdict import Verdict, failed, not_applicable, passed
from anvil_trio.conform.voices import Voice

__all__ = [
    "has_no_such_dialect",
    "judge_beats",
    "judge_call",
    "judge_counts",
    "judge_left",
    "judge_limit",
    "judge_method",
    "judge_plain",
    "judge_refusal",
    "judge_stream",
    "said_streamed",
    "said_whole",
]

_NO_SUCH_PATH = frozenset({404, 405, 501})
_BEATS = (b"ping", b"heartbeat", b"keepalive", b"keep-alive")
_UNAUTHORIZED, _METHOD = 401, 405


def said_whole(reply: Reply, voice: Voice) -> Said:
    """What a plain answer says. Raises GrammarError."""
    return voice.said_in(body_of(reply))


def said_streamed(reply: Reply, voice: Voice, *, usage_wanted: bool = False) -> Said:
    """What a streamed answer says, which kept the grammar and ended well. Raises GrammarError."""
    return voice.read_stream(stream_of(reply), usage_wanted=usage_wanted, is_engine=False)


def has_no_such_dialect(reply: Reply) -> bool:
    """Whether there is nothing at a dialect's path."""
    return reply.status in _NO_SUCH_PATH


def judge_plain(reply: Reply, voice: Voice) -> Verdict:
    """A plain request is answered whole, in the dialect's shape."""
    said = said_whole(reply, voice)
    must(said.text, "the answer says nothing")
    return passed("The answer is whole.")


def judge_stream(reply: Reply, voice: Voice) -> Verdict:
    """A streamed request is answered in events, with exactly one end."""
    said = said_streamed(reply, voice)
    must(said.text, "the answer says nothing")
    return passed("Every event keeps the grammar, and there is exactly one end.")


def judge_limit(reply: Reply, voice: Voice) -> Verdict:
    """An answer that a limit cut says so."""
    said = said_streamed(reply, voice)
    if said.finish is Finish.LENGTH:
        return passed("An answer that was cut says so.")
    return not_applicable("The model ended by itself below the limit.")


def judge_counts(asked: Reply, unasked: Reply, voice: Voice) -> Verdict:
    """Counts come at the end of a stream for who asks, and for nobody else."""
    said = said_streamed(asked, voice, usage_wanted=True)
    must(said.counts is not None, "counts were asked for and did not come")
    said_streamed(unasked, voice)
    return passed("Counts come for who asks, and for nobody else.")


def judge_call(reply: Reply, voice: Voice) -> Verdict:
    """A streamed call of a tool is whole."""
    if reply.status is not None and 400 <= reply.status < 600:  # noqa: PLR2004 - HTTP's own
        parsed = parse_object(reply.body)
        must(voice.is_refusal(parsed), "the refusal is not in the dialect's shape")
        return not_applicable("Tools are refused, in the dialect's shape.")
    said = said_streamed(reply, voice)
    if not said.calls:
        return not_applicable("The model made no call.")
    if said.finish is Finish.LENGTH:
        return not_applicable("A limit cut the call, and the answer says so.")
    for call in said.calls:
        parse_object(call.arguments)
    return passed("A call has its name, its id and whole arguments.")


def judge_beats(stream: bytes, voice: Voice) -> Verdict:
    """What keeps a stream alive is a comment, or in Messages a ping."""
    comments = 0
    for block in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = block.split(b"\n")
        comments += any(line.startswith(b":") for line in lines)
        if not voice.is_messages and _is_beat(lines):
            return failed("A heartbeat is an event, which clients take for a part of the answer.")
    if comments:
        return passed("Heartbeats are comments, which every client passes over.", seen=comments)
    return not_applicable("No heartbeat came while the stream lasted.")


def _is_beat(lines: Collection[bytes]) -> bool:
    """Whether an event is named or typed as a heartbeat, or has a name and no data."""
    values = {
        line.partition(b":")[0]: line.partition(b":")[2].strip()
        for line in lines
        if line and not line.startswith(b":")
    }
    data = values.get(b"data", b"")
    is_typed = any(b'"type":"%b"' % word in data.replace(b" ", b"") for word in _BEATS)
    return values.get(b"event") in _BEATS or is_typed or (bool(values) and not data)


def judge_left(left: int, after: Reply, voice: Voice) -> Verdict:
    """After streams were left in their midst, the next request is answered."""
    must(left > 0, "no stream began")
    said_whole(after, voice)
    return passed("The next request is answered.", streams_left=left)


def judge_refusal(
    reply: Reply, voice: Voice, statuses: Collection[int], *, secret: bytes = b""
) -> Verdict:
    """A refusal has its status, is told in the dialect's shape, and never repeats a key."""
    if reply.status is None:
        expect_ok(reply)
    status = reply.status
    if status not in statuses:
        return failed("The refusal has another status.", status=status, expected=min(statuses))
    if secret and secret in reply.body:
        return failed("The refusal repeats the key.")
    try:
        is_told = voice.is_refusal(parse_object(reply.body))
    except GrammarError:
        is_told = False
    if not is_told:
        return failed("The refusal is not in the dialect's shape.", status=status)
    return passed("It is refused in the dialect's shape.", status=status)


def judge_method(reply: Reply, voice: Voice) -> Verdict:
    """A wrong method is a 405 that says which one is right."""
    verdict = judge_refusal(reply, voice, {_METHOD})
    if reply.status == _METHOD and b"POST" not in reply.header(b"allow"):
        return failed("The refusal does not say which method is right.", status=_METHOD)
    return verdict
