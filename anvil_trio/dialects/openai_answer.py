"""One answer of an engine that speaks Chat Completions, piece by piece, as stream events."""

from collections.abc import Callable, Iterable
from uuid import uuid4

import msgspec

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.dialects.raw_json import ABSENT, is_given
from anvil_trio.dialects.tool_calls import NOTHING_YET, CallNumbers, as_argument_string
from anvil_trio.dialects.usage import finish_reason_of
from anvil_trio.errors import Code, UpstreamFailed, problem

__all__ = ["Piece", "SaidDelta", "SpokenAnswer", "new_call_id"]

_MAX_CALLS = 512  # of one answer: what is kept of a stream stays small, whatever an engine sends
_MAX_ID_LENGTH = 1024
_TEXT = msgspec.json.Decoder(str)
_ENDS_CALLS = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: msgspec.Raw = ABSENT


class Piece(msgspec.Struct, gc=False):
    """One tool call, or one piece of it."""

    index: int | None = None
    id: str | int | None = None
    function: _Function | None = None


class SaidDelta(msgspec.Struct, gc=False):
    """All that an engine can say in one piece of an answer; what is not text says nothing."""

    content: object = None
    refusal: object = None
    tool_calls: list[Piece] | None = None
    reasoning_content: object = None
    reasoning: object = None
    reasoning_text: object = None


class _Call:
    """One tool call: what has been told of it, and what waits for its name."""

    __slots__ = ("call_id", "has_arguments", "held", "is_told")

    def __init__(self) -> None:
        self.call_id = ""
        self.has_arguments = False
        self.is_told = False
        self.held: list[str] = []


def new_call_id() -> str:
    """An id for a call to which its engine gave none; no two are ever the same."""
    return f"call_{uuid4().hex[:24]}"


class SpokenAnswer:
    """Pieces in, events out; the engine's order is kept. Its `finish_reason` is None until told.

    A call is told of once its name is known; arguments that came before are held until then.
    """

    __slots__ = ("_calls", "_ids", "_make_id", "_numbers", "finish_reason")

    def __init__(self, make_id: Callable[[], str] = new_call_id) -> None:
        self.finish_reason: FinishReason | None = None
        self._make_id = make_id
        self._numbers: CallNumbers | None = None  # most answers have no calls
        self._calls: list[_Call] = []
        self._ids: set[str] = set()

    def take(self, delta: SaidDelta, out: list[StreamEvent]) -> None:
        """Add what one piece says. Raises UpstreamFailed where no caller could use it."""
        reasoning = delta.reasoning_content or delta.reasoning or delta.reasoning_text
        if reasoning and (text := _text_of(reasoning)):
            out.append(ReasoningDelta(text))
        if delta.content and (text := _text_of(delta.content)):
            out.append(TextDelta(text))
        if delta.refusal and (text := _text_of(delta.refusal)):
            out.append(TextDelta(text))
        for piece in delta.tool_calls or ():
            self._take_piece(piece, out)

    def finish(
        self, reason: str | None, out: list[StreamEvent], stop_sequence: str | None = None
    ) -> None:
        """Add the end, once. Without a reason it is tool use if there were calls, else stop.

        Raises UpstreamFailed if it would end in a call that has no name.
        """
        if self.finish_reason is not None:
            return
        if reason is None:
            found = FinishReason.TOOL_CALLS if self._calls else FinishReason.STOP
        else:
            found = finish_reason_of(reason)
        if found in _ENDS_CALLS:
            self._complete(out)
        self.finish_reason = found
        out.append(Finished(found, stop_sequence))

    def _complete(self, out: list[StreamEvent]) -> None:
        """Give calls that have ended without arguments their `{}`."""
        for number, call in enumerate(self._calls):
            if not call.is_told:
                raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
            if not call.has_arguments:
                call.has_arguments = True
                out.append(ArgumentsDelta(number, "{}"))

    def _take_piece(self, piece: Piece, out: list[StreamEvent]) -> None:
        numbers = self._numbers = self._numbers or CallNumbers()
        number = numbers.number(piece.index, piece.id)
        if number >= len(self._calls):
            if number >= _MAX_CALLS:
                raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
            self._calls.append(_Call())
        call = self._calls[number]
        if not call.is_told:
            self._identify(call, piece)
        function = piece.function
        if function is None:
            return
        if function.name and not call.is_told:
            call.is_told = True
            call.call_id = call.call_id or self._unused(self._make_id())
            out.append(CallBegan(number, call.call_id, function.name))
            out.extend(ArgumentsDelta(number, text) for text in call.held)
            call.held.clear()
        text = _arguments_of(function.arguments)
        if text:
            call.has_arguments = True
            if call.is_told:
                out.append(ArgumentsDelta(number, text))
            else:
                call.held.append(text)

    def _identify(self, call: _Call, piece: Piece) -> None:
        """Take the engine's id; one that another call of this answer has is replaced."""
        if piece.id and not call.call_id:
            call.call_id = self._unused(str(piece.id))

    def _unused(self, call_id: str) -> str:
        if call_id in self._ids or len(call_id) > _MAX_ID_LENGTH:
            call_id = self._make_id()
        self._ids.add(call_id)
        return call_id


def _arguments_of(raw: msgspec.Raw) -> str:
    """A piece of arguments as text; "" where there is none yet."""
    if not is_given(raw) or raw == NOTHING_YET:
        return ""
    return _TEXT.decode(as_argument_string(raw))


def _text_of(said: object) -> str:
    """The text in what an engine calls content: a string, or a list of parts."""
    if isinstance(said, str):
        return said
    return "".join(_texts_in(said)) if isinstance(said, list) else ""


def _texts_in(parts: Iterable[object]) -> Iterable[str]:
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text
