"""Tool calls in OpenAI's shape: arguments as a JSON string, and calls numbered without gaps."""

import msgspec

from anvil_trio.dialects.raw_json import is_given, is_string, raw_of

__all__ = [
    "NOTHING_YET",
    "NO_ARGUMENTS",
    "CallNumbers",
    "as_argument_string",
    "mended_arguments",
]

NO_ARGUMENTS = msgspec.Raw(b'"{}"')
"""The arguments of a call that has none: an empty object, as a JSON string."""

NOTHING_YET = msgspec.Raw(b'""')


def as_argument_string(arguments: msgspec.Raw) -> msgspec.Raw:
    """Arguments as a JSON string; an object (or anything else) becomes its own text, unedited."""
    return arguments if is_string(arguments) else raw_of(bytes(arguments).decode())


def mended_arguments(arguments: msgspec.Raw) -> msgspec.Raw:
    """The arguments of a whole call as they should have been sent; the same Raw if they were.

    Absent, null and "" all mean a call without arguments.
    """
    if not is_given(arguments) or arguments == NOTHING_YET:
        return NO_ARGUMENTS
    return as_argument_string(arguments)


class CallNumbers:
    """Numbers the tool calls of one choice of one stream: 0, 1, 2 ... in the order they begin.

    Engines differ in what tells calls apart. A new id on a used index is a new call (Ollama sends
    index 0 for all); an id that was seen before on that index, or no id, goes on with that call;
    an id that comes after its call has begun belongs to it; no index at all means the call of
    that id, else the last one. Ids are kept as hashes, so that what is held stays small.
    """

    __slots__ = ("_at_index", "_of_id", "_with_id", "count")

    def __init__(self) -> None:
        self.count = 0
        self._at_index: dict[int | None, int] = {}  # the call that an index stands for now
        self._of_id: dict[tuple[int | None, int], int] = {}
        self._with_id: set[int] = set()

    def number(self, index: int | None, call_id: str | int | None) -> int:
        """The number of the call that a piece with this index and id belongs to."""
        current = self._at_index.get(index)
        if call_id:
            current = self._identified(index, hash(call_id), current)
        elif current is None:
            current = self.count - 1 if index is None and self.count else self._begin()
        self._at_index[index] = current
        return current

    def _identified(self, index: int | None, key: int, current: int | None) -> int:
        known = self._of_id.get((index, key))
        if known is not None:
            return known
        number = self._begin() if current is None or current in self._with_id else current
        self._with_id.add(number)
        self._of_id[index, key] = self._of_id[None, key] = number
        return number

    def _begin(self) -> int:
        self.count += 1
        return self.count - 1
