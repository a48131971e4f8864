"""The chat routes: from an authenticated ASGI request to one exchange."""

import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from uuid import uuid4

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
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, declared_length, headers_of
from anvil_trio.web.auth import Principal
from anvil_trio.web.respond import AsgiCaller, server_side
from anvil_trio.web.watcher import run_watched

__all__ = ["DIALECTS", "answer_chat", "call_of", "safe_token", "said_headers"]

DIALECTS: Mapping[str, ClientDialect] = MappingProxyType({
    dialect.name: dialect for dialect in (CHAT, MESSAGES, RESPONSES)
})


_SAID = frozenset({b"anthropic-version", b"anthropic-beta"})
_SAFE = re.compile(rb"[A-Za-z0-9._=-]+(?:, ?[A-Za-z0-9._=-]+){0,63}")


async def answer_chat(
    house: House,
    generation: Generation,
    principal: Principal,
    dialect: ClientDialect,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Run one exchange; under a server that does not tell of leaving, a watcher stands in."""
    headers = headers_of(scope)
    call = call_of(principal, dialect, headers)
    server = server_side(scope)
    caller = AsgiCaller(receive, send, server, declared_length(headers))
    work = partial(run_chat, house, generation, call, caller)
    if server is None:
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await work()


def call_of(principal: Principal, dialect: ClientDialect, headers: Headers) -> Call:
    """What the head of a request says of it; its id is made here."""
    return Call(
        dialect=dialect,
        client_id=principal.client_id,
        gateway_request_id=RequestId(f"req_{uuid4().hex}"),
        ids=CallerIds(
            request_id=safe_token(headers, b"x-request-id", b"request-id"),
            session_id=safe_token(headers, b"x-anvil-session-id", b"x-session-affinity"),
            workbench_run_id=safe_token(headers, b"x-anvil-workbench-run-id"),
            task_id=safe_token(headers, b"x-anvil-task-id"),
        ),
        said_headers=said_headers(headers) if dialect is MESSAGES else (),
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
