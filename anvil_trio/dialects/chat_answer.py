"""One choice of one chat stream: what must be remembered of it, and what must change in it."""

from collections.abc import Sequence

from anvil_trio.dialects.chat_chunks import CallEdit, CallPiece, Delta, DeltaEdit
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.dialects.raw_json import is_given
from anvil_trio.dialects.tool_calls import (
    NO_ARGUMENTS,
    NOTHING_YET,
    CallNumbers,
    as_argument_string,
)
from anvil_trio.dialects.usage import finish_reason_of

__all__ = ["Answer"]

_ENDS_CALLS = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


class Answer:
    """One of the answers that a caller asked for, while it streams.

    Invariant: `unfilled` are the function calls that have begun and have no arguments yet.
    """

    __slots__ = ("finish_reason", "numbers", "unfilled")

    def __init__(self) -> None:
        self.finish_reason: FinishReason | None = None
        self.numbers = CallNumbers()
        self.unfilled: set[int] = set()

    def finish(self, reason: str) -> FinishReason:
        """The engine has said why this answer ends."""
        self.finish_reason = finish_reason_of(reason)
        return self.finish_reason

    def take(self, delta: Delta) -> DeltaEdit | None:
        """Learn from one piece of this answer; what must change in it, or None."""
        reasoning = delta.misplaced_reasoning
        calls = self._take_calls(delta.tool_calls) if delta.tool_calls else {}
        return DeltaEdit(reasoning, calls) if reasoning or calls else None

    def end_without_reason(self) -> FinishReason:
        """The engine has ended without saying why: tool use if there were calls, else stop."""
        self.finish_reason = FinishReason.TOOL_CALLS if self.numbers.count else FinishReason.STOP
        return self.finish_reason

    def take_unfilled(self) -> list[int]:
        """Calls that have ended without arguments, once; none where the reply was cut."""
        if self.finish_reason not in _ENDS_CALLS:
            return []
        ended = sorted(self.unfilled)
        self.unfilled.clear()
        return ended

    def _take_calls(self, pieces: Sequence[CallPiece]) -> dict[int, CallEdit]:
        edits = {}
        for place, piece in enumerate(pieces):
            edit = self._take_call(piece)
            if edit.index is not None or edit.arguments is not None:
                edits[place] = edit
        return edits

    def _take_call(self, piece: CallPiece) -> CallEdit:
        begun = self.numbers.count
        number = self.numbers.number(piece.index, piece.id)
        if number >= begun and piece.function is not None:
            self.unfilled.add(number)
        arguments = piece.arguments
        if is_given(arguments) and arguments != NOTHING_YET:
            self.unfilled.discard(number)
            fixed = as_argument_string(arguments)
        elif self.finish_reason in _ENDS_CALLS and number in self.unfilled:
            self.unfilled.discard(number)
            fixed = NO_ARGUMENTS
        else:
            fixed = arguments
        return CallEdit(
            index=None if number == piece.index else number,
            arguments=None if fixed is arguments else fixed,
        )
