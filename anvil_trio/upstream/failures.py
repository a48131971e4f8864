"""What an upstream's failure means to the caller: a fixed problem, never the upstream's words.

The status decides; of an error body only one thing is ever read: whether a 400 says that the
prompt is longer than the context (CONTRACT 9).
"""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import MappingProxyType

import httpx
import msgspec

from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["error_problem", "status_problem", "upstream_failed"]

_REFUSALS = frozenset({400, 413, 415, 422})
_OVERLOADED = 529  # no HTTP standard has it; engines and proxies send it all the same
_CODES: Mapping[int, Code] = MappingProxyType({
    HTTPStatus.TOO_MANY_REQUESTS: Code.UPSTREAM_RATE_LIMITED,
    HTTPStatus.SERVICE_UNAVAILABLE: Code.UPSTREAM_OVERLOADED,
    _OVERLOADED: Code.UPSTREAM_OVERLOADED,
})
_DIGITS = re.compile(rb"[0-9]{1,9}")

_OVERFLOW_NAMES = frozenset({"exceed_context_size_error", "context_length_exceeded"})
_OVERFLOW_WORDS = re.compile(
    r"maximum context length"  # vLLM
    r"|longer than the model's context length"  # SGLang
    r"|longer than the maximum model length"  # vLLM, other paths
    r"|exceeds the available context size",  # llama.cpp
    re.IGNORECASE,
)


def upstream_failed(error: httpx.HTTPError) -> UpstreamFailed:
    """The failure to raise for what the transport raised; raise it `from None` (R012)."""
    is_late = isinstance(error, httpx.ConnectTimeout | httpx.WriteTimeout)
    return UpstreamFailed(problem(Code.CONNECT_TIMEOUT if is_late else Code.UPSTREAM_ERROR))


def status_problem(status: int, retry_after: bytes | None = None) -> Problem:
    """The problem that an upstream's error status stands for.

    `retry_after` is its header of that name; seconds are bounded to 1..60, a date or anything
    else counts as 1.
    """
    if status in _REFUSALS:
        return problem(Code.UPSTREAM_REFUSED, status=status)
    code = _CODES.get(status, Code.UPSTREAM_ERROR)
    return problem(code, retry_after_s=_seconds(retry_after))


def error_problem(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Problem:
    """The same for a whole error reply; a 400 that reports a context overflow says so.

    `headers` have lower-case names, `body` is bounded by the caller and may be cut or empty.
    """
    if status == HTTPStatus.BAD_REQUEST and _reports_overflow(body):
        return problem(Code.CONTEXT_LENGTH_EXCEEDED)
    retry_after = next((value for name, value in headers if name == b"retry-after"), None)
    return status_problem(status, retry_after)


def _seconds(retry_after: bytes | None) -> int | None:
    text = (retry_after or b"").strip()
    return int(text) if _DIGITS.fullmatch(text) else None


def _reports_overflow(body: bytes) -> bool:
    """Whether an error body is one of those with which engines refuse a prompt for its length."""
    try:
        tree: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    if not isinstance(tree, dict):
        return False
    error = tree.get("error", tree)  # SGLang has no wrapper
    fields = error if isinstance(error, dict) else {"message": error}
    if any(_is_overflow_name(fields.get(name)) for name in ("code", "type")):
        return True
    message = fields.get("message")
    return isinstance(message, str) and _OVERFLOW_WORDS.search(message) is not None


def _is_overflow_name(value: object) -> bool:
    return isinstance(value, str) and value in _OVERFLOW_NAMES
