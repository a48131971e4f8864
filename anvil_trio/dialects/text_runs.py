"""Events of a Chat engine that are nothing but more text: decoded many at a time, in one call.

Nearly every event of nearly every stream is one: a piece of the answer numbered 0, and nothing that
must be remembered or changed. What is not, or not in the usual spelling, is left to be read alone.
"""

from typing import Literal

import msgspec

from anvil_trio.dialects.raw_json import is_utf8

__all__ = ["TextChunk", "TextRuns"]

_FIRST = b"data: {"
_NEXT = b"\n\ndata: {"
_LAST = b"}\n\n"
_FINISH = (b'"finish_reason":"', b'"finish_reason": "')
_SMALL_BYTES = 2048  # so little is tried as a whole
_PATIENCE = 3  # tries; a stream whose events are otherwise costs no more


class _Text(msgspec.Struct, gc=False):
    """A delta that says text or thoughts where every caller looks for them."""

    content: str | None = None
    reasoning_content: str | None = None
    role: None = None
    refusal: None = None
    tool_calls: tuple[()] | None = None
    reasoning: None = None
    reasoning_text: None = None


class _Choice(msgspec.Struct, gc=False):
    index: Literal[0]
    delta: _Text
    finish_reason: None = None


class TextChunk(msgspec.Struct, gc=False):
    """One event that says nothing but text. Anything else cannot be decoded as one."""

    model: str
    choices: tuple[_Choice]
    kind: Literal["chat.completion.chunk"] = msgspec.field(name="object")
    usage: None = None
    error: None = None

    @property
    def said(self) -> _Text:
        """The text."""
        return self.choices[0].delta


_decode_lines = msgspec.json.Decoder(TextChunk).decode_lines


class TextRuns:
    """Finds the runs of one stream, in what its `SseDecoder` gives as `whole`.

    `max_event_bytes` bounds a run too, so that no event of one can be too long.
    """

    __slots__ = ("_max", "_tries_left")

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._tries_left = _PATIENCE

    def find(self, whole: bytes, at: int) -> tuple[bytes, list[TextChunk]] | None:
        """The events that stand at this place one behind another: their bytes, and what each says.

        They go on up to the event in which an answer ends. None if there are none.
        """
        if not self._tries_left:
            return None
        data = whole if at == 0 else whole[at:]
        if len(data) > _SMALL_BYTES:
            data = data[: _end_of_text(data)]
        chunks = _decoded(data) if len(data) <= self._max else None
        if chunks is not None:
            self._tries_left = _PATIENCE
            return data, chunks
        if data and _end_of_text(data) == len(data):  # it is not the end that is no text
            self._tries_left -= 1
        return None


def _decoded(data: bytes) -> list[TextChunk] | None:
    """What each event says; None unless each is one line, and each line one object."""
    if not (data.startswith(_FIRST) and data.endswith(_LAST)):
        return None
    lines = data[6:-1].replace(_NEXT, b"\n{")
    try:
        chunks = _decode_lines(lines)
    except (msgspec.DecodeError, RecursionError):
        return None
    # As many lines as objects: a line feed within an object would be one of SSE, not of JSON.
    if lines.count(b"\n") != len(chunks) or not (data.isascii() or is_utf8(data)):
        return None
    return chunks


def _end_of_text(data: bytes) -> int:
    """Where the event begins that ends an answer; the end of `data` if none does."""
    for finish in _FINISH:
        found = data.find(finish)
        if found >= 0:
            blank = data.rfind(b"\n\n", 0, found)
            return 0 if blank < 0 else blank + 2
    return len(data)
