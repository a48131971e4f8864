"""One choice of one chat stream: what must be remembered of it, and what must change in it."""

from collections.abc import Sequence

import msgspec

from anvil_trio.dialects.chat_chunks import CallEdit, CallPiece, Delta, DeltaEdit
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.dialects.raw_json import ABSENT, is_given, raw_of
from anvil_trio.dialects.tool_calls import (
    NO_ARGUMENTS,
    NOTHING_YET,
    CallNumbers,
    as_argument_string,
)
from anvil_trio.dialects.usage import finish_reason_of

__all__ = ["ROLE", "Answer"]

ROLE = msgspec.Raw(b'"assistant"')
_FUNCTION = msgspec.Raw(b'"function"')
_NO_FUNCTION = msgspec.Raw(b"{}")
_ENDS_CALLS = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


class _Calls:
    """The tool calls of one answer.

    Invariant: `unfilled` are the function calls that have begun and have no arguments yet.
    """

    __slots__ = ("names", "numbers", "unfilled", "with_id")

    def __init__(self) -> None:
        self.numbers = CallNumbers()
        self.unfilled: set[int] = set()
        self.names: dict[int, int] = {}  # of calls, as hashes, so that what is held stays small
        self.with_id: set[int] = set()

    def take(self, piece: CallPiece, finish_reason: FinishReason | None) -> CallEdit:
        """Learn from one piece of one call; what must change in it."""
        begun = self.numbers.count
        number = self.numbers.number(piece.index, piece.id)
        is_new = number >= begun
        if is_new and piece.function is not None:
            self.unfilled.add(number)
        call: dict[str, msgspec.Raw | None] = {}
        function: dict[str, msgspec.Raw | None] = {}
        if number != piece.index:
            call["index"] = raw_of(number)
        self._take_names(piece, number, call, function)
        if piece.custom is ABSENT:
            if not is_given(piece.kind) and (is_new or piece.kind is not ABSENT):
                call["type"] = _FUNCTION
            if piece.function is None:
                call["function"] = _NO_FUNCTION
        arguments = piece.arguments
        fixed = self._mended(number, arguments, finish_reason)
        if fixed is not arguments:
            function["arguments"] = fixed
        return CallEdit(call, function)

    def _take_names(
        self,
        piece: CallPiece,
        number: int,
        call: dict[str, msgspec.Raw | None],
        function: dict[str, msgspec.Raw | None],
    ) -> None:
        """Id and name of a call: those that were told before go."""
        if piece.id:
            if number in self.with_id:
                call["id"] = None
            self.with_id.add(number)
        if piece.name and isinstance(piece.name, str):
            key = hash(piece.name)
            if self.names.get(number) == key:
                function["name"] = None
            self.names.setdefault(number, key)

    def _mended(
        self, number: int, arguments: msgspec.Raw, finish_reason: FinishReason | None
    ) -> msgspec.Raw:
        if is_given(arguments) and arguments != NOTHING_YET:
            self.unfilled.discard(number)
            return as_argument_string(arguments)
        if finish_reason in _ENDS_CALLS and number in self.unfilled:
            self.unfilled.discard(number)
            return NO_ARGUMENTS
        return arguments


class Answer:
    """One of the answers that a caller asked for, while it streams.

    Clients join the pieces of an answer member by member, so that a role, an id or a name that is
    told twice would stand twice in what they make of it.
    """

    __slots__ = ("_calls", "finish_reason", "has_begun")

    def __init__(self) -> None:
        self.finish_reason: FinishReason | None = None
        self.has_begun = False
        self._calls: _Calls | None = None  # most answers have none

    @property
    def calls(self) -> int:
        """How many tool calls have begun."""
        return 0 if self._calls is None else self._calls.numbers.count

    def finish(self, reason: str) -> FinishReason:
        """The engine has said why this answer ends."""
        self.finish_reason = finish_reason_of(reason)
        return self.finish_reason

    def take(self, delta: Delta) -> DeltaEdit | None:
        """Learn from one piece of this answer; what must change in it, or None."""
        said: dict[str, msgspec.Raw | None] = {}
        if self.has_begun:
            if delta.role is not None:
                said["role"] = None
        elif not delta.role:
            said["role"] = ROLE
        self.has_begun = True
        if delta.misplaced_reasoning:
            said["reasoning_content"] = raw_of(delta.misplaced_reasoning)
        calls = self._take_calls(delta.tool_calls) if delta.tool_calls else {}
        return DeltaEdit(said=said, calls=calls) if said or calls else None

    def end_without_reason(self) -> FinishReason:
        """The engine has ended without saying why: tool use if there were calls, else stop."""
        self.finish_reason = FinishReason.TOOL_CALLS if self.calls else FinishReason.STOP
        return self.finish_reason

    def take_unfilled(self) -> list[int]:
        """Calls that have ended without arguments, once; none where the reply was cut."""
        if self._calls is None or self.finish_reason not in _ENDS_CALLS:
            return []
        ended = sorted(self._calls.unfilled)
        self._calls.unfilled.clear()
        return ended

    def _take_calls(self, pieces: Sequence[CallPiece]) -> dict[int, CallEdit]:
        calls = self._calls = self._calls or _Calls()
        edits = {}
        for place, piece in enumerate(pieces):
            edit = calls.take(piece, self.finish_reason)
            if edit:
                edits[place] = edit
        return edits
