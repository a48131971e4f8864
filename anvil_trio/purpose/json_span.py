"""Where a member of a JSON object stands, so that its value can change and no other byte does.

The text was decoded before: only whole JSON objects come here.
"""

import re
from collections.abc import Iterator

import msgspec

__all__ = ["spans_of", "with_text"]

Span = tuple[int, int]

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_TEXT = msgspec.json.Decoder(str)


def spans_of(data: bytes, name: str) -> list[Span | None]:
    """For each time the object has a member of that name: where its value stands, quotes included.

    None where the value is no string. Members of objects inside are not looked at.
    """
    return list(_found(data, name))


def with_text(data: bytes, name: str, text: str) -> bytes:
    """The object with every string that is a member of that name replaced, no other byte."""
    written = msgspec.json.encode(text)
    parts, at = [], 0
    for span in _found(data, name):
        if span is not None:
            parts += [data[at : span[0]], written]
            at = span[1]
    return b"".join([*parts, data[at:]])


def _found(data: bytes, name: str) -> Iterator[Span | None]:
    depth, awaited = 0, -1  # where the value of a member of that name begins
    for token in _TOKEN.finditer(data):
        first, start, end = data[token.start()], token.start(), token.end()
        if start == awaited:
            yield (start, end) if first == ord('"') else None
            awaited = -1
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
        elif depth == 1 and (colon := _COLON.match(data, end)) and _TEXT.decode(token[0]) == name:
            awaited = colon.end()
            if data[awaited] not in b'"[{':
                yield None
