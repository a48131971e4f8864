"""One probe of one member: its health, then the model it serves. Bounded in bytes and in time.

No redirect is followed, no proxy used and no environment read: the client given must be one of
`upstream.client.open_probe_client`, which leaves all of that out and knows the member's address.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx
import trio

from anvil_trio.readiness.verdict import Answer, Finding, Silence, judge_health, judge_identity

__all__ = ["Plan", "probe"]

_MODELS_PATH = "/v1/models"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one member is asked. `model` is None where its identity is not asked.

    `timeout_s` bounds each of the two calls as a whole; `max_bytes` each body.
    """

    health_path: str
    model: str | None
    key: str | None = field(repr=False)
    timeout_s: float
    max_bytes: int


async def probe(client: httpx.AsyncClient, plan: Plan) -> Finding:
    """Ask one member; every fault is a finding. Takes at most twice the plan's timeout."""
    found = judge_health(await _ask(client, plan.health_path, plan))
    if plan.model is None or not found.verdict.is_ready:
        return found
    return judge_identity(await _ask(client, _MODELS_PATH, plan), plan.model)


async def _ask(client: httpx.AsyncClient, path: str, plan: Plan) -> Answer | Silence:
    headers = [(b"authorization", b"Bearer " + plan.key.encode())] if plan.key else []
    with trio.move_on_after(plan.timeout_s):
        try:
            response = await client.send(
                client.build_request("GET", path, headers=headers), stream=True
            )
            return await _read(response, plan.max_bytes)
        except httpx.TimeoutException:
            return Silence.TIMED_OUT
        except httpx.HTTPError:
            return Silence.BROKEN
    return Silence.TIMED_OUT


async def _read(response: httpx.Response, max_bytes: int) -> Answer:
    """The answer with at most `max_bytes` of body; what is longer is left unread."""
    try:
        return Answer(response.status_code, await _bounded(response.stream, max_bytes))
    finally:
        with trio.CancelScope(shield=True):  # closing an upstream stream never waits
            await response.aclose()


async def _bounded(stream: object, max_bytes: int) -> bytes | None:
    assert isinstance(stream, httpx.AsyncByteStream)
    parts = aiter(stream)
    assert isinstance(parts, AsyncGenerator), "httpx wraps a body in a generator"
    body = bytearray()
    async with aclosing(parts):
        async for part in parts:
            body += part
            if len(body) > max_bytes:
                return None
    return bytes(body)
