"""The orders of a switch, as requests to a running router."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.router_client import SHA256, Question, ask_router
from anvil_trio.cli.transition import Order
from anvil_trio.cli.transition_reply import judge, read_rows
from anvil_trio.lifecycle.faults import LifecycleFailed

__all__ = ["ACTIVATION_REFUSED", "HttpOrders"]

ACTIVATION_REFUSED = "activation_refused"
_TIMEOUT_S = 60.0
_CONNECT_S = 5.0
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class HttpOrders:
    """A `RouterOrders`. Address and token are looked at when the first order is given."""

    url: str | None
    environ: Mapping[str, str]

    async def installed(self) -> str | None:
        """The digest at work; None if nobody listens at the router's address."""
        question = self._question("status")
        if not await _is_listening(question.url):
            return None
        page = replace(question, path="/v1/router/status", query={}, body=None)
        digest = (await _ask(page)).get("installed_config_sha256")
        if not isinstance(digest, str) or re.search(SHA256, digest) is None:
            raise LifecycleFailed("router_response_invalid")
        return digest

    async def quiesce(self, tier: str, reason: str) -> None:
        """No new request from now on."""
        await self._transition("quiesce", tier, reason=reason)

    async def drain(self, tier: str, timeout_s: float) -> bool:
        """Whether nothing runs any more."""
        return await self._transition("drain", tier, timeout_s=timeout_s)

    async def readmit(self, tier: str) -> bool:
        """Whether it is open again."""
        return await self._transition("readmit", tier)

    async def activate(self, sha256: str) -> None:
        """The file with this digest is at work."""
        body: dict[str, JsonValue] = {"sha256": sha256, "confirm": True, "dry_run": False}
        order = replace(self._question("status"), path="/v1/admin/activate", query={}, body=body)
        try:
            reply = await _ask(order)
        except LifecycleFailed as failed:
            if failed.code == "router_http_error":  # why is told by the router's own event lines
                raise LifecycleFailed(ACTIVATION_REFUSED) from None
            raise
        if reply.get("installed_config_sha256") != sha256:
            raise LifecycleFailed(ACTIVATION_REFUSED)

    async def _transition(
        self, action: str, tier: str, *, timeout_s: float = _TIMEOUT_S, reason: str = ""
    ) -> bool:
        reply = await _ask(self._question(action, tier, timeout_s=timeout_s, reason=reason))
        try:
            return judge(action, reply, read_rows(action, reply, tier)) is None
        except CommandFailed as failed:
            raise LifecycleFailed(failed.failure.code) from None

    def _question(
        self,
        action: str,
        tier: str | None = None,
        *,
        timeout_s: float = _TIMEOUT_S,
        reason: str = "",
    ) -> Question:
        order = Order(action, tier, None, self.url, timeout_s, reason, is_confirmed=True)
        try:
            return order.question(self.environ)
        except CommandFailed as failed:
            raise LifecycleFailed(failed.failure.code) from None


async def _ask(question: Question) -> dict[str, JsonValue]:
    try:
        return await ask_router(question)
    except CommandFailed as failed:
        raise LifecycleFailed(failed.failure.code) from None


async def _is_listening(url: str) -> bool:
    """Whether a connection can be made; only a refusal says that there is no router.

    One that hangs is there, and its requests must not be forgotten.
    """
    parts = urlsplit(url)
    family = trio.socket.AF_INET6 if ":" in (parts.hostname or "") else trio.socket.AF_INET
    with trio.move_on_after(_CONNECT_S), trio.socket.socket(family) as sock:
        try:
            await sock.connect((parts.hostname, parts.port or _PORTS[parts.scheme.lower()]))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True
