"""A stream that does not end for long: what is kept of it stays as small as it was."""

import gc
import tracemalloc
from collections.abc import Callable, Sequence

import pytest

from anvil_trio.dialects.anthropic_events import AnthropicEvents
from anvil_trio.dialects.chat_encoder import ChatEncoder
from anvil_trio.dialects.ir import StreamTranslator
from anvil_trio.dialects.messages_stream import MessagesStream
from anvil_trio.dialects.openai_events import OpenAiEvents
from anvil_trio.dialects.translate import TranslatedStream
from tests.unit.dialects.chats import delta, event, new_stream

ROUNDS = 2_000
PER_READ = 10


def chat_to_messages() -> StreamTranslator:
    """A Chat engine's stream for a Messages caller."""
    encoder = MessagesStream(
        "llm.primary", prompt_tokens=1, stop_sequences=frozenset(), max_waiting_bytes=65_536
    )
    return TranslatedStream(OpenAiEvents(65_536), encoder)


def anthropic_to_chat() -> StreamTranslator:
    """A Messages engine's stream for a Chat caller."""
    encoder = ChatEncoder("llm.primary", created=1, usage_wanted=False)
    return TranslatedStream(AnthropicEvents(65_536), encoder)


CHAT = (
    delta({"role": "assistant", "content": "begun"}),
    b"".join(delta({"content": f"piece {number}"}) for number in range(PER_READ)),
)
ANTHROPIC = (
    event({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}})
    + event({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}),
    event({
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "piece"},
    })
    * PER_READ,
)


@pytest.mark.parametrize(
    ("new", "reads"),
    [(new_stream, CHAT), (chat_to_messages, CHAT), (anthropic_to_chat, ANTHROPIC)],
)
def test_nothing_is_kept_of_events_that_were_handed_on(
    new: Callable[[], StreamTranslator], reads: Sequence[bytes]
):
    """Twenty thousand events leave no more behind than a handful did, and each was answered."""
    # A Responses stream is another matter: its API repeats the whole text at the end.
    stream = new()
    stream.feed(reads[0])
    for _ in range(10):
        stream.feed(reads[1])
    gc.collect()
    tracemalloc.start()
    try:
        began, before = stream.events, tracemalloc.get_traced_memory()[0]
        handed_on = sum(stream.feed(reads[1]).count(b"piece") for _ in range(ROUNDS))
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert handed_on == stream.events - began == ROUNDS * PER_READ
    assert grown < 32_768  # less than two bytes an event
