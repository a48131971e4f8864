"""URLs and headers of upstream requests. Takes a member's own URL, never a tier (R003).

Headers come from the allow list below and from nowhere else: no client credential, no session id
and no hop-by-hop header ever travels upstream.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from anvil_trio.config.model import TierDialect

__all__ = ["chat_url", "count_tokens_url", "request_headers", "root_url"]

Header = tuple[bytes, bytes]


class _Allowed(NamedTuple):
    """What one dialect's upstream requests carry besides the headers that all of them carry."""

    key_header: bytes
    key_prefix: bytes
    fixed: tuple[Header, ...]


_ALLOWED: Mapping[TierDialect, _Allowed] = MappingProxyType({
    TierDialect.OPENAI: _Allowed(b"authorization", b"Bearer ", ()),
    TierDialect.ANTHROPIC: _Allowed(b"x-api-key", b"", ((b"anthropic-version", b"2023-06-01"),)),
})


def _split(base_url: str) -> SplitResult:
    assert base_url, "a replica tier's empty base_url reached a URL builder"
    return urlsplit(base_url)


def chat_url(base_url: str) -> str:
    """Where chat requests go: `/v1` is added to the base URL's path unless it ends with it."""
    return f"{_versioned(base_url)}/chat/completions"


def count_tokens_url(base_url: str) -> str:
    """Where an engine counts the tokens of a Messages request, if it can."""
    return f"{_versioned(base_url)}/messages/count_tokens"


def _versioned(base_url: str) -> str:
    parts = _split(base_url)
    path = parts.path.rstrip("/")
    version = "" if path.endswith("/v1") else "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}{version}"


def root_url(base_url: str) -> str:
    """Where health and identity are asked: the authority root, whatever path the base URL has."""
    parts = _split(base_url)
    return f"{parts.scheme}://{parts.netloc}"


def request_headers(
    dialect: TierDialect, key: str | None, request_id: str, *, accept_stream: bool
) -> list[Header]:
    """All headers of one chat request but `host` and `content-length`, which the transport adds.

    `accept-encoding: identity` asks for plain bytes; a coded answer is decoded all the same.
    """
    allowed = _ALLOWED[dialect]
    headers = [
        (b"content-type", b"application/json"),
        (b"accept", b"text/event-stream" if accept_stream else b"application/json"),
        (b"accept-encoding", b"identity"),
        (b"x-request-id", request_id.encode()),
        *allowed.fixed,
    ]
    if key:
        headers.append((allowed.key_header, allowed.key_prefix + key.encode()))
    return headers
