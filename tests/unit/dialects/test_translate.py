"""Joining a decoder and an encoder: what a translator owes to its two halves."""

from anvil_trio.dialects.events import StreamEvent, TextDelta
from anvil_trio.dialects.ir import ChatRequest, FinishReason, StreamTranslator, Usage
from anvil_trio.dialects.openai_events import OpenAiEvents
from anvil_trio.dialects.translate import TranslatedStream
from anvil_trio.dialects.usage import merged_usage
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem
from tests.unit.dialects.chats import delta, event, tier, unrendered
from tests.unit.dialects.messages import asked

BROKEN = problem(Code.UPSTREAM_ERROR)


class Letters:
    """An encoder that writes one letter for what it is told, and refuses the text `bad`."""

    completion_estimate = 7

    def start(self) -> bytes:
        """See `StreamEncoder`."""
        return b"<"

    def encode(self, event: StreamEvent) -> bytes:
        """See `StreamEncoder`."""
        if event == TextDelta("bad"):
            raise UpstreamFailed(BROKEN)
        return type(event).__name__[:1].encode()

    def finish(self) -> bytes:
        """See `StreamEncoder`."""
        return b">"

    def terminal_error(self, what: Problem) -> bytes:
        """See `StreamEncoder`."""
        return what.code.value.encode()


def new_stream() -> StreamTranslator:
    """A translator into letters."""
    return TranslatedStream(OpenAiEvents(4096), Letters())


def test_the_opening_leaves_with_the_first_event():
    """Also with one that says nothing, and never twice."""
    stream = new_stream()
    assert stream.feed(b": comment\n\n") == b""
    said = [stream.feed(delta({"role": "assistant"})), stream.has_content]
    said += [stream.feed(delta({"content": "x"})), stream.has_content]
    assert said == [b"<", False, b"T", True]
    assert stream.feed(delta(finish="stop")) == b"F"
    assert stream.close() == b">"


def test_an_error_as_first_event_opens_nothing():
    """The caller can still be told by an HTTP status."""
    stream = new_stream()
    assert stream.feed(event({"error": {}})) == b""
    assert stream.failure == BROKEN
    assert stream.terminal_error(BROKEN) == b"upstream_error"


def test_an_error_after_good_events_loses_none():
    """The good ones of the same read are encoded."""
    stream = new_stream()
    assert stream.feed(delta({"content": "x"}) + event({"error": {}})) == b"<T"
    assert stream.finish_now() == b">"


def test_an_encoder_may_refuse():
    """What it took is handed on; nothing ends well after it, whatever the engine says."""
    stream = new_stream()
    reads = [delta({"content": "x"}), delta({"content": "bad"}), delta(finish="stop")]
    assert stream.feed(b"".join(reads) + b"data: [DONE]\n\n") == b"<T"
    assert stream.failure == BROKEN
    assert (stream.is_finished, stream.is_done) == (False, False)
    assert stream.feed(reads[0]) == stream.finish_now() == stream.close() == b""
    assert stream.finish_reason is FinishReason.STOP


def test_closing_before_anything_was_said_is_a_failure():
    """Nothing is opened for an engine that said nothing."""
    stream = new_stream()
    assert stream.close() == b""
    assert stream.failure == BROKEN
    assert stream.usage == Usage()


def test_the_closing_bytes_leave_once():
    """However a stream ends well, and in whatever order it is told so."""
    stream = new_stream()
    assert stream.feed(delta({"content": "x"}) + delta(finish="stop")) == b"<TF"
    assert stream.finish_now() == b">"
    assert stream.finish_now() == stream.close() == b""
    assert new_stream().finish_now() == b"<>"


def test_later_counts_replace_earlier_ones():
    """Field by field; what a report does not say leaves what is known."""
    assert merged_usage(Usage(1, 2, 3, 4), Usage(None, 5)) == Usage(1, 5, 3, 4)
    assert merged_usage(Usage(), Usage(0, 0, 0, 0)) == Usage(0, 0, 0, 0)


def test_what_chat_cannot_say_is_refused_when_it_is_sent():
    """A request may be fit for another tier; the one it is for says no."""
    request: ChatRequest = asked(thread={"id": "t"})
    assert unrendered(request, tier()) == request.untranslatable


def test_an_estimate_is_told_once_the_stream_has_ended_uncounted():
    """Before the end nobody was told anything, and where the engine counts nothing is estimated."""
    stream, counted = new_stream(), new_stream()
    usage = event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 3}})
    for each, last in ((stream, delta(finish="stop")), (counted, delta(finish="stop") + usage)):
        each.feed(delta({"content": "x"}) + last)
        assert each.completion_estimate is None
        each.close()
    assert (stream.completion_estimate, counted.completion_estimate) == (7, None)
