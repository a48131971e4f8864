"""Errors as OpenAI-speaking engines send them, in an HTTP error's body or in the midst of a 200.

Their words are read only to tell an overflow of the context from other refusals, and by how much;
none is kept.
"""

import re

import msgspec

from anvil_trio.dialects.raw_json import ABSENT, is_given, is_string
from anvil_trio.errors import Code, Overflow, Problem, problem, status_problem

__all__ = ["error_problem"]

_OVERFLOW_WORDS = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "model's context length",
    "available context size",
)
_OVERFLOW_STATUSES = frozenset({400, 413, 422})
_FIRST_ERROR_STATUS, _LAST_ERROR_STATUS = 400, 599


class _Body(msgspec.Struct, gc=False):
    """`{"error": {...}}`, `{"error": "words"}`, or SGLang's bare `{"object": "error", ...}`."""

    error: msgspec.Raw = ABSENT
    code: object = None
    type: object = None
    message: object = None


# As in: context length is 8192 tokens; context length (8192 tokens); context size (8192 tokens).
_CONTEXT = re.compile(r"context (?:length|size)[^0-9]{1,16}([0-9]{1,12})(?![0-9])")
_NUMBER = re.compile(r"(?<![0-9])[0-9]{1,12}(?![0-9])")
_DECODER = msgspec.json.Decoder(_Body)
_TEXT = msgspec.json.Decoder(str)


def error_problem(
    data: bytes, status: int | None = None, retry_after_s: int | None = None
) -> Problem:
    """What the caller is told of an engine's error.

    `data` is the body or the event; `status` the HTTP status, None inside a 200, where the
    error's own integer code counts if it is one of 400..599. Never raises.
    """
    body = _read(data)
    found = _status_in(body) if status is None else status
    if (found is None or found in _OVERFLOW_STATUSES) and _is_overflow(body):
        return problem(
            Code.CONTEXT_LENGTH_EXCEEDED, param="messages", overflow=_overflow_in(body.message)
        )
    return problem(Code.UPSTREAM_ERROR) if found is None else status_problem(found, retry_after_s)


def _read(data: bytes) -> _Body:
    try:
        body = _DECODER.decode(data)
        if not is_given(body.error):
            return body
        if is_string(body.error):
            return _Body(message=_TEXT.decode(body.error))
        return _DECODER.decode(body.error)
    except (msgspec.DecodeError, RecursionError):
        return _Body()


def _status_in(body: _Body) -> int | None:
    code = body.code
    if isinstance(code, str) and code.isascii() and code.isdecimal():
        code = int(code[:4])
    if type(code) is int and _FIRST_ERROR_STATUS <= code <= _LAST_ERROR_STATUS:
        return code
    return None


def _overflow_in(words: object) -> Overflow | None:
    """The two numbers that engines name: the context next to that word, the prompt as the greatest.

    Numbers alone are taken from an engine's words, and only if they make sense.
    """
    if not isinstance(words, str) or (context := _CONTEXT.search(words)) is None:
        return None
    tokens = max(map(int, _NUMBER.findall(words)))
    limit = int(context.group(1))
    return Overflow(tokens, limit) if tokens > limit else None


def _is_overflow(body: _Body) -> bool:
    said = " ".join(part for part in (body.code, body.type, body.message) if isinstance(part, str))
    return any(words in said.lower() for words in _OVERFLOW_WORDS)
