"""What an upstream's failure means to the caller: a fixed problem, never the upstream's words."""

import re
from collections.abc import Iterable

import httpx

from anvil_trio.dialects import engine_errors
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["error_problem", "upstream_failed"]

_SECONDS = re.compile(rb"[0-9]{1,9}")


def upstream_failed(error: httpx.HTTPError) -> UpstreamFailed:
    """The failure to raise for what the transport raised; raise it `from None` (R012).

    Only a connection or a request that took too long is a timeout; everything else is a break.
    """
    is_late = isinstance(error, httpx.ConnectTimeout | httpx.WriteTimeout)
    return UpstreamFailed(problem(Code.CONNECT_TIMEOUT if is_late else Code.UPSTREAM_ERROR))


def error_problem(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Problem:
    """The problem that an upstream's whole error reply stands for.

    `headers` have lower-case names; `body` is bounded by the caller and may be cut or empty.
    A `Retry-After` in seconds is passed on within 1..60, any other counts as 1.
    """
    said = next((value for name, value in headers if name == b"retry-after"), b"").strip()
    retry_after_s = int(said) if _SECONDS.fullmatch(said) else None
    return engine_errors.error_problem(body, status, retry_after_s)
