"""How a command speaks to a running router: one request, within bounds, to this machine or network.

No proxy, no redirect, no setting of the environment; what goes wrong is told in fixed words that
show neither the address nor the token nor what the router said (R012).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import httpx
import msgspec
import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.config.json_object import read_json_object
from anvil_trio.upstream.stream import Head, UpstreamStream
from anvil_trio.upstream.transport import MemberTransport

__all__ = ["ACCESS_DENIED", "MAX_REPLY_BYTES", "ORDER_REFUSALS", "SHA256", "Question", "ask_router"]

MAX_REPLY_BYTES = 262_144
SHA256 = r"\A[0-9a-f]{64}\Z"
"""What a router's word for a configuration looks like."""

ACCESS_DENIED = Failure(
    Exit.TRANSPORT, "router_access_denied", "The router does not accept this token."
)


_UNREACHABLE = Failure(
    Exit.TRANSPORT,
    "router_unreachable",
    "The router did not answer. Does it run at the address of --router-url?",
)


def _told(code: str, message: str) -> Failure:
    return Failure(Exit.EXECUTION, code, message)


ORDER_REFUSALS = {
    "invalid_transition": _told(
        "invalid_transition",
        "The router refuses this: no such tier or member, a drain of what is not quiesced, or a "
        "--reason of other characters or above 128.",
    ),
    "server_busy": _told("server_busy", "The router is busy with other orders."),
    "transition_failed": _told(
        "transition_failed", "The router could not do it; nothing has changed."
    ),
    "activation_digest_mismatch": _told(
        "activation_digest_mismatch", "The router's own file does not hold what was written."
    ),
    "activation_config_invalid": _told(
        "activation_config_invalid",
        "The router finds its configuration not valid, or lacks a secret.",
    ),
    "activation_requires_restart": _told(
        "activation_requires_restart",
        "The router takes this change only when it is restarted.",
    ),
    "activation_failed": _told(
        "activation_failed", "The router did not take it up; nothing has changed."
    ),
}


@dataclass(frozen=True, slots=True)
class Question:
    """One request. `body` makes it a POST; `query` is that of a GET.

    `refusals` says what the router's own codes mean for who asks; any other is no answer.
    """

    url: str
    token: str
    path: str
    query: dict[str, str]
    body: dict[str, JsonValue] | None
    timeout_s: float
    refusals: Mapping[str, Failure] = field(default_factory=lambda: ORDER_REFUSALS)


async def ask_router(question: Question) -> dict[str, JsonValue]:
    """The object that the router answers. Raises CommandFailed for everything else."""
    try:
        with trio.fail_after(question.timeout_s):
            status, body = await _exchange(question)
    except (httpx.HTTPError, trio.TooSlowError):
        raise CommandFailed(_UNREACHABLE) from None
    if body is None:
        raise _transport("router_response_oversized", "The router's answer is too large.")
    reply = read_json_object(body)
    if status != HTTPStatus.OK:
        raise CommandFailed(_refusal(status, reply, question.refusals))
    if reply is None:
        raise _transport("router_response_invalid", "The router's answer could not be read.")
    return dict(reply)


async def _exchange(question: Question) -> tuple[int, bytes | None]:
    """Status and body; None for a body above the bound, of which no more is read."""
    headers = [
        ("authorization", f"Bearer {question.token}"),
        ("content-type", "application/json"),
        ("accept-encoding", "identity"),
    ]
    body = b"" if question.body is None else msgspec.json.encode(question.body)
    request = httpx.Request(
        "GET" if question.body is None else "POST",
        httpx.URL(question.url, path=question.path, params=question.query),
        headers=headers,
        content=body,
    )
    # Our own connections: they follow nothing, ask no proxy and read no environment.
    stream = await MemberTransport(question.url, keepalive_s=0).send(request, body)
    try:
        return await _read(stream)
    finally:
        await stream.aclose()  # never waits


async def _read(stream: UpstreamStream) -> tuple[int, bytes | None]:
    head = await stream.receive()
    assert isinstance(head, Head), "a reply begins with its head"
    body = bytearray()
    while isinstance(part := await stream.receive(), bytes):
        body += part
        if len(body) > MAX_REPLY_BYTES:
            return head.status, None
    return head.status, bytes(body)


def _refusal(status: int, reply: object, refusals: Mapping[str, Failure]) -> Failure:
    """What a reply that is no success means, by the router's own code where it is one of ours."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return ACCESS_DENIED
    error = reply.get("error") if isinstance(reply, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code in refusals:
        return refusals[code]
    return Failure(Exit.TRANSPORT, "router_http_error", "The router did not do what was asked.")


def _transport(code: str, message: str) -> CommandFailed:
    return CommandFailed(Failure(Exit.TRANSPORT, code, message))
