"""One probe of one member: its health, then the model it serves. Bounded in bytes and in time.

No redirect is followed, no proxy used and no environment read: the client given must be one of
`upstream.client.open_probe_client`, which leaves all of that out and knows the member's address.
"""

from dataclasses import dataclass, field

import httpx

from anvil_trio.facts import Answer, Silence
from anvil_trio.net.small_get import get_small
from anvil_trio.readiness.verdict import Finding, judge_health, judge_identity

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
    return await get_small(
        client, path, key=plan.key, timeout_s=plan.timeout_s, max_bytes=plan.max_bytes
    )
