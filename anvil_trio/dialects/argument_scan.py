"""Whether the text of a tool call's arguments is whole, found while it streams."""

import re

__all__ = ["ArgumentScan"]

_OUTSIDE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'["\\]')
_OPEN = frozenset("{[")


class ArgumentScan:
    """Counts brackets outside of strings; looks at each character once and keeps none.

    It judges where a value ends, not whether it is valid. A value that is no object or array has
    no end that could be seen: `is_whole` stays False and so does `is_cut`.
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_is_bracketed", "_is_empty", "is_whole")

    def __init__(self) -> None:
        self.is_whole = False  # the outermost bracket was closed
        self._depth = 0
        self._in_string = False
        self._escaped = False  # the next character cannot end the string
        self._is_empty = True
        self._is_bracketed = False

    @property
    def is_cut(self) -> bool:
        """Whether an object or array has begun and not ended."""
        return self._is_bracketed and not self.is_whole

    def feed(self, text: str) -> None:
        """Take more of the arguments."""
        if self._is_empty:
            begun = text.lstrip()
            if not begun:
                return
            self._is_empty = False
            self._is_bracketed = begun[0] in _OPEN
        at = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        while (found := self._telling.search(text, at)) is not None:
            at = self._take(found.group(), found.end(), len(text))

    @property
    def _telling(self) -> re.Pattern[str]:
        return _IN_STRING if self._in_string else _OUTSIDE

    def _take(self, mark: str, after: int, length: int) -> int:
        """One telling character; where to go on."""
        if mark == "\\":
            self._escaped = after == length
            return after + 1
        if mark == '"':
            self._in_string = not self._in_string
        elif mark in _OPEN:
            self._depth += 1
        else:
            self._depth -= 1
            self.is_whole = self.is_whole or (self._is_bracketed and self._depth == 0)
        return after
