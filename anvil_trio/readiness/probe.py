"""One probe of one member: its health, then the model it serves. Bounded in bytes and in time.

No redirect is followed, no proxy used and no environment read: the client given must be one of
`upstream.client.open_probe_client`, which leaves all of that out and knows the member's address.
"""

from dataclasses import dataclass, field

import httpx

from anvil_trio.facts import Answer, Silence
from anvil_trio.net.small_get import get_small
from anvil_trio.readiness.served import judge_served, read_named, read_props
from anvil_trio.readiness.verdict import Finding, judge_health, judge_identity

__all__ = ["Plan", "probe"]

_MODELS_PATH = "/v1/models"
_PROPS_PATH = "/props"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one member is asked. `model` is None where its identity is not asked.

    `adopts` asks an engine that owns its tier's metadata what it serves, and takes that over.
    `timeout_s` bounds each of the two calls as a whole; `max_bytes` each body.
    """

    health_path: str
    model: str | None
    key: str | None = field(repr=False)
    timeout_s: float
    max_bytes: int
    adopts: bool = False
    max_output_tokens: int | None = None


async def probe(client: httpx.AsyncClient, plan: Plan) -> Finding:
    """Ask one member; every fault is a finding. Each of at most three calls is bounded."""
    found = judge_health(await _ask(client, plan.health_path, plan))
    if not found.verdict.is_ready:
        return found
    if plan.adopts:
        return await _adopt(client, plan)
    if plan.model is None:
        return found
    return judge_identity(await _ask(client, _MODELS_PATH, plan), plan.model)


async def _adopt(client: httpx.AsyncClient, plan: Plan) -> Finding:
    """What the engine serves; llama.cpp tells its context on a page of its own."""
    named = read_named(await _ask(client, _MODELS_PATH, plan))
    if isinstance(named, Finding):
        return named
    context = named.context_limit
    if context is None:
        stated = read_props(await _ask(client, _PROPS_PATH, plan), named.model)
        if isinstance(stated, Finding):
            return stated
        context = stated
    return judge_served(named.model, context, plan.max_output_tokens)


async def _ask(client: httpx.AsyncClient, path: str, plan: Plan) -> Answer | Silence:
    return await get_small(
        client, path, key=plan.key, timeout_s=plan.timeout_s, max_bytes=plan.max_bytes
    )
