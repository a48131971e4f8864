"""The chat routes: from an authenticated ASGI request to one exchange."""

import re
from collections.abc import Mapping
from functools import partial
from os import urandom
from types import MappingProxyType
from typing import NamedTuple

from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ClientDialect
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.run import run_chat
from anvil_trio.names import RequestId, is_correlation_token
from anvil_trio.web.asgi_types import Headers, Receive, Send, declared_length
from anvil_trio.web.auth import Principal
from anvil_trio.web.respond import AsgiCaller, ServerSide
from anvil_trio.web.watcher import run_watched

__all__ = ["DIALECTS", "Asked", "answer_chat", "call_of", "safe_token", "said_headers"]

DIALECTS: Mapping[str, ClientDialect] = MappingProxyType({
    dialect.name: dialect for dialect in (CHAT, MESSAGES, RESPONSES)
})


_ID_BYTES = 16
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


class Asked(NamedTuple):
    """One request as it comes, and the way back; `server` is None under a server not ours."""

    headers: Headers
    receive: Receive
    send: Send
    server: ServerSide | None


async def answer_chat(
    house: House,
    generation: Generation,
    principal: Principal,
    dialect: ClientDialect,
    asked: Asked,
) -> None:
    """Run one exchange; under a server that does not tell of leaving, a watcher stands in."""
    headers = asked.headers
    call = call_of(principal, dialect, headers)
    caller = AsgiCaller(asked.receive, asked.send, asked.server, declared_length(headers))
    if asked.server is None:
        work = partial(run_chat, house, generation, call, caller)
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await run_chat(house, generation, call, caller)


def call_of(principal: Principal, dialect: ClientDialect, headers: Headers) -> Call:
    """What the head of a request says of it; its id is made here."""
    return Call(
        dialect,
        principal.client_id,
        RequestId("req_" + urandom(_ID_BYTES).hex()),
        _ids_in(dict(reversed(headers))),
        said_headers(headers) if dialect is MESSAGES else (),
    )


def _ids_in(first: Mapping[bytes, bytes]) -> CallerIds:
    """The ids among a request's headers, of which `first` has the first of each name."""
    if _ID_HEADERS.isdisjoint(first):
        return _NO_IDS
    named = list(first.items())
    return CallerIds(
        request_id=safe_token(named, b"x-request-id", b"request-id"),
        session_id=safe_token(named, b"x-anvil-session-id", b"x-session-affinity"),
        workbench_run_id=safe_token(named, b"x-anvil-workbench-run-id"),
        task_id=safe_token(named, b"x-anvil-task-id"),
    )


def said_headers(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """What a Messages caller says of version and betas; odd values are left out."""
    return tuple(
        (name, value.strip())
        for name, value in headers
        if name in _SAID and _SAFE.fullmatch(value.strip())
    )


def safe_token(headers: Headers, *names: bytes) -> str | None:
    """The first of the named headers, if its value is safe to keep and show; else None."""
    for name in names:
        for key, value in headers:
            if key == name:
                text = value.decode("latin-1").strip()
                return text if is_correlation_token(text) else None
    return None
