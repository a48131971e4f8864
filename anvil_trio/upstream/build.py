"""URLs and headers of upstream requests. Takes a member's own URL, never a tier (R003).

Headers come from the allow list below and from nowhere else: no client credential, no session id
and no hop-by-hop header ever travels upstream.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import SplitResult, urlencode, urlsplit

from anvil_trio.config.model import TierDialect

__all__ = [
    "chat_url",
    "count_tokens_url",
    "realtime_headers",
    "realtime_url",
    "request_headers",
    "root_url",
    "service_headers",
    "service_url",
]

Header = tuple[bytes, bytes]


class _Allowed(NamedTuple):
    """What one dialect's upstream requests carry besides the headers that all of them carry."""

    key_header: bytes
    key_prefix: bytes
    fixed: tuple[Header, ...]
    passed: frozenset[bytes]  # what a caller of the same dialect may say; theirs goes first


_ALLOWED: Mapping[TierDialect, _Allowed] = MappingProxyType({
    TierDialect.OPENAI: _Allowed(b"authorization", b"Bearer ", (), frozenset()),
    TierDialect.ANTHROPIC: _Allowed(
        b"x-api-key",
        b"",
        ((b"anthropic-version", b"2023-06-01"),),
        frozenset({b"anthropic-version", b"anthropic-beta"}),
    ),
})


_PATHS: Mapping[TierDialect, str] = MappingProxyType({
    TierDialect.OPENAI: "chat/completions",
    TierDialect.ANTHROPIC: "messages",
})


def _split(base_url: str) -> SplitResult:
    assert base_url, "a replica tier's empty base_url reached a URL builder"
    return urlsplit(base_url)


def chat_url(base_url: str, dialect: TierDialect = TierDialect.OPENAI) -> str:
    """Where chat requests go: `/v1` is added to the base URL's path unless it ends with it."""
    return f"{_versioned(base_url)}/{_PATHS[dialect]}"


def count_tokens_url(base_url: str) -> str:
    """Where an engine counts the tokens of a Messages request, if it can."""
    return f"{_versioned(base_url)}/messages/count_tokens"


def realtime_url(chat: str, model: str, intent: str | None = None) -> str:
    """Where the engine that takes chat requests at `chat` opens a session with that model.

    The scheme stays HTTP's: what is asked for is an upgrade.
    """
    parts = _split(chat)
    path = parts.path.removesuffix(_PATHS[TierDialect.OPENAI])
    assert path != parts.path, "an engine of another dialect has no sessions"
    query = {"model": model} if intent is None else {"model": model, "intent": intent}
    return f"{parts.scheme}://{parts.netloc}{path}realtime?{urlencode(query)}"


def service_url(base_url: str, path: str) -> str:
    """Where a service beside chat is asked: the base URL is taken as it is, with its version."""
    parts = _split(base_url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/{path}"


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
    dialect: TierDialect,
    key: str | None,
    request_id: str,
    *,
    accept_stream: bool,
    said: Iterable[Header] = (),
) -> list[Header]:
    """All headers of one chat request but `host` and `content-length`, which the transport adds.

    `said` are headers of a caller who speaks the engine's dialect, their values checked; only
    those of the allow list travel.
    `accept-encoding: identity` asks for plain bytes; a coded answer is decoded all the same.
    """
    allowed = _ALLOWED[dialect]
    passed = {name: value for name, value in said if name in allowed.passed}
    headers = [
        (b"content-type", b"application/json"),
        (b"accept", b"text/event-stream" if accept_stream else b"application/json"),
        (b"accept-encoding", b"identity"),
        (b"x-request-id", request_id.encode()),
        *{**dict(allowed.fixed), **passed}.items(),
    ]
    if key:
        headers.append((allowed.key_header, allowed.key_prefix + key.encode()))
    return headers


def service_headers(
    key: str | None, request_id: str, *, content_type: bytes, accept: bytes
) -> list[Header]:
    """All headers of one request to a service beside chat, likewise; a caller says none of them."""
    headers = [
        (b"content-type", content_type),
        (b"accept", accept),
        (b"accept-encoding", b"identity"),
        (b"x-request-id", request_id.encode()),
    ]
    if key:
        headers.append((b"authorization", b"Bearer " + key.encode()))
    return headers


def realtime_headers(key: str | None, request_id: str, *, is_beta: bool) -> list[Header]:
    """All headers of one handshake that are not the protocol's own; a caller says none of them.

    `is_beta` tells the engine that the caller speaks the protocol's first version.
    """
    headers = [(b"x-request-id", request_id.encode())]
    if is_beta:
        headers.append((b"openai-beta", b"realtime=v1"))
    if key:
        headers.append((b"authorization", b"Bearer " + key.encode()))
    return headers
