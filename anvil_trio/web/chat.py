"""The chat routes: from an authenticated ASGI request to one exchange."""

import re
from collections.abc import Awaitable, Mapping
from functools import partial
from os import urandom
from types import MappingProxyType

from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ClientDialect
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Header
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.run import run_chat
from anvil_trio.names import RequestId, is_correlation_token
from anvil_trio.web.asgi_types import Headers
from anvil_trio.web.asked import Asked
from anvil_trio.web.auth import Principal
from anvil_trio.web.respond import AsgiCaller
from anvil_trio.web.router import Route
from anvil_trio.web.watcher import run_watched

__all__ = ["DIALECTS", "answer_chat", "call_of", "said_headers"]

DIALECTS: Mapping[str, ClientDialect] = MappingProxyType({
    dialect.name: dialect for dialect in (CHAT, MESSAGES, RESPONSES)
})


_ID_BYTES, _IDS_AT_ONCE = 16, 256
_ready_ids: list[RequestId] = []
_ID_HEADERS = frozenset({
    b"x-request-id",
    b"request-id",
    b"x-anvil-session-id",
    b"x-session-affinity",
    b"x-anvil-workbench-run-id",
    b"x-anvil-task-id",
})
_NO_IDS = CallerIds()
_SAID = frozenset({b"anthropic-version", b"anthropic-beta"})
_SAFE = re.compile(rb"[A-Za-z0-9._=-]+(?:, ?[A-Za-z0-9._=-]+){0,63}")


def answer_chat(
    house: House,
    generation: Generation,
    principal: Principal,
    route: Route,
    asked: Asked,
) -> Awaitable[None]:
    """Run one exchange in the dialect of a chat route; to be awaited at once.

    Under a server that does not tell of leaving, a watcher stands in.
    """
    assert route.dialect is not None, "a chat route has its dialect"
    dialect = DIALECTS[route.dialect]
    said = said_headers(asked.headers) if dialect is MESSAGES else ()
    call = call_of(principal, dialect, asked.first, said)
    caller = AsgiCaller(asked)
    if asked.server is None:
        work = partial(run_chat, house, generation, call, caller)
        return run_watched(work, caller.wait_for_leaving, caller.has_left)
    return run_chat(house, generation, call, caller)


def call_of(
    principal: Principal,
    dialect: ClientDialect,
    first: Mapping[bytes, bytes],
    said: tuple[Header, ...] = (),
) -> Call:
    """What the head of a request says of it; its id is made here. See `Asked` for `first`."""
    ids = _NO_IDS if _ID_HEADERS.isdisjoint(first) else _ids_in(first)
    return Call(dialect, principal.client_id, _new_id(), ids, said)


def _new_id() -> RequestId:
    """One that nobody can guess. What costs is to ask the system, so it is asked for many."""
    try:
        return _ready_ids.pop()
    except IndexError:
        drawn = urandom(_ID_BYTES * _IDS_AT_ONCE).hex()
    size = 2 * _ID_BYTES
    _ready_ids.extend(
        RequestId("req_" + drawn[at : at + size]) for at in range(0, len(drawn), size)
    )
    return _ready_ids.pop()


def _ids_in(first: Mapping[bytes, bytes]) -> CallerIds:
    return CallerIds(
        request_id=_safe_token(first, b"x-request-id", b"request-id"),
        session_id=_safe_token(first, b"x-anvil-session-id", b"x-session-affinity"),
        workbench_run_id=_safe_token(first, b"x-anvil-workbench-run-id"),
        task_id=_safe_token(first, b"x-anvil-task-id"),
    )


def said_headers(headers: Headers) -> tuple[Header, ...]:
    """What a Messages caller says of version and betas; odd values are left out."""
    return tuple(
        (name, value.strip())
        for name, value in headers
        if name in _SAID and _SAFE.fullmatch(value.strip())
    )


def _safe_token(first: Mapping[bytes, bytes], *names: bytes) -> str | None:
    """The first of the named headers, if its value is safe to keep and show; else None."""
    said = next((first[name] for name in names if name in first), b"")
    text = said.decode("latin-1").strip()
    return text if is_correlation_token(text) else None
