"""What the benchmarks' clients send and how they read, whatever the bytes are split into."""

import json

import pytest

from benchmarks.chat_wire import FAULTS, Reply, StreamReader, count_tokens, render_request
from benchmarks.flow import Flow, parse_flow

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = (b'data: {"content":"@1.000001 "}\n\n', b'data: {"content":"@22.500000 "}\n\n')
DONE = b"data: [DONE]\n\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


STREAM = HEAD + chunk(EVENTS[0]) + chunk(EVENTS[1][:20]) + chunk(EVENTS[1][20:]) + chunk(DONE) + END


@pytest.mark.parametrize("flow", [Flow(), Flow(20, 0.5, are_timed=True), Flow(1, 0.01)])
def test_the_engine_reads_the_flow_that_is_asked_for(flow: Flow):
    """The words of a flow, anywhere in a request, are that flow again."""
    body = json.dumps({"messages": [{"role": "user", "content": flow.words}]})
    assert parse_flow(body.encode()) == flow


def test_without_words_the_flow_is_the_usual_one():
    """64 events at once, without times."""
    assert parse_flow(b"{}") == Flow(events=64, gap_s=0.0, are_timed=False)


def test_a_request_is_one_post_with_its_length():
    """The path is below the URL's, the host is the URL's, the key is shown, the body is JSON."""
    request = render_request("http://host:81/base/", "/v1/x", "k", {"a": 1})
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /base/v1/x HTTP/1.1"
    assert {"host: host:81", "authorization: Bearer k", f"content-length: {len(body)}"} < set(lines)
    assert json.loads(body) == {"a": 1}


def test_without_a_key_none_is_shown():
    """No authorization header at all."""
    assert b"authorization" not in render_request("http://h:1", "/", None, {})


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_a_stream_is_counted_whatever_its_split(size: int):
    """Reads of any size: two events with their times, over and good with the last byte only."""
    reader, marks = StreamReader(2), []
    for at in range(0, len(STREAM), size):
        assert not reader.is_over
        assert not reader.is_good
        marks += reader.feed(STREAM[at : at + size])
    assert marks == [1.000001, 22.5]
    assert (reader.events, reader.is_over, reader.is_good, reader.fault) == (2, True, True, None)


@pytest.mark.parametrize(
    ("stream", "fault"),
    [
        (HEAD + chunk(EVENTS[0]) + chunk(DONE) + END, "events too few or too many"),
        (HEAD + chunk(EVENTS[0] * 3) + chunk(DONE) + END, "events too few or too many"),
        (HEAD + chunk(EVENTS[0] * 2) + END, "no last event"),
        (STREAM.replace(b"200", b"503"), "status 503"),
    ],
)
def test_a_stream_that_is_not_as_asked_for_is_not_good(stream: bytes, fault: str):
    """It is over all the same, so that nobody waits for it, and says what is wrong."""
    reader = StreamReader(2)
    reader.feed(stream)
    assert reader.is_over
    assert (reader.is_good, reader.fault) == (False, fault)


def test_a_stream_that_is_not_over_broke_off():
    """Before its first byte and before its last one."""
    reader = StreamReader(2)
    assert reader.fault == "broke off"
    reader.feed(STREAM[:-1])
    assert (reader.is_good, reader.fault) == (False, "broke off")


def test_a_refusal_is_over_with_its_head():
    """Nothing is read of its body."""
    reader = StreamReader(1)
    reader.feed(b"HTTP/1.1 503 no\r\ncontent-length: 100\r\n\r\n")
    assert reader.is_over
    assert not reader.is_good


def test_a_reader_keeps_little():
    """However long a stream goes on without a mark, at most 64 bytes are kept."""
    reader = StreamReader(1)
    reader.feed(HEAD)
    for _ in range(100):
        reader.feed(chunk(b"x" * 1000))
    assert len(reader._rest) <= 64


def test_a_reply_with_a_length_is_over_with_it():
    """Status and body; the connection is kept unless the reply says otherwise."""
    for more, keeps in ((b"", True), (b"connection: close\r\n", False)):
        reply = Reply()
        body = reply.feed(b"HTTP/1.1 201 x\r\n" + more + b"content-length: 5\r\n\r\nhel")
        assert (body, reply.is_over) == (b"hel", False)
        assert reply.feed(b"lo") == b"lo"
        assert (reply.status, reply.is_over, reply.keeps_connection) == (201, True, keeps)


def test_a_reply_without_a_bound_ends_with_its_connection():
    """Only such a one: half a body of a known length, or no head at all, is no reply."""
    unbounded = Reply()
    assert unbounded.feed(b"HTTP/1.1 200 x\r\n\r\nall") == b"all"
    states = [unbounded.is_over, unbounded.end(), unbounded.is_over]
    assert states == [False, True, True]
    half = Reply()
    half.feed(b"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nhalf")
    assert not half.end()
    assert not Reply().end()


def test_what_is_no_reply_is_a_fault():
    """The parser's errors are those that the clients expect."""
    with pytest.raises(FAULTS):
        Reply().feed(b"nonsense\r\n\r\n")


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (b"data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", 2),
        (b"data:[DONE]\n\n", 0),
        (b"event: x\ndata: {}\n\n: beat\n\ndata: [DONE]\n\n", 1),
        (b"data: {}\n\n", None),
        (b"data: [DONE]\n\ndata: {}\n\n", None),
        (b'{"error":{}}', None),
        (b"", None),
    ],
)
def test_a_whole_chat_stream_has_so_many_events(body: bytes, tokens: int | None):
    """Those before the last one, which must be there and last."""
    assert count_tokens(body) == tokens
