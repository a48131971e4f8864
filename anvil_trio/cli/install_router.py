"""What an installation asks of a running router, as requests to it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import msgspec
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.router_client import SHA256, Question, ask_router
from anvil_trio.cli.transition import Order
from anvil_trio.cli.transition_reply import Row, judge, read_rows
from anvil_trio.installation.faults import InstallFailed
from anvil_trio.installation.plan import Look, TierRow

__all__ = ["CLOSED_FOR", "HttpRouter"]

CLOSED_FOR = "promotion"
"""The reason that ends with the process: what was closed for it is open after a restart."""

_TIMEOUT_S = 30.0
_LOOK_S = 5.0
_ACTIVATION_S = 300.0
"""An activation waits for the first probes of new members, as long as their settings say."""

_INVALID = "router_response_invalid"


class _Page(msgspec.Struct):
    """The two keys of the status page that are of interest here."""

    started_at: str
    installed_config_sha256: Annotated[str, msgspec.Meta(pattern=SHA256)]


@dataclass(frozen=True, slots=True)
class HttpRouter:
    """A `RouterOrders`: the router at `url`, else where the environment says.

    Whoever makes one calls `check` before anything else.
    """

    url: str | None = field(repr=False)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def check(self) -> None:
        """Raise CommandFailed if its address or token are of no use."""
        Order("status", None, None, self.url, _LOOK_S, "", is_confirmed=True).question(self.environ)

    async def look(self) -> Look:
        """Its process, its digest and its tiers."""
        question = self._question("status", timeout_s=_LOOK_S)
        page = await self._read(replace(question, path="/v1/router/status", query={}))
        rows = _rows("status", await _ask(question), None)
        tiers = tuple(
            TierRow(
                tier_id=row.tier_id,
                is_quiesced=row.state == "quiesced",
                is_failed=row.state == "failed",
                is_ready=row.ready is True,
            )
            for row in rows
        )
        return Look(page.installed_config_sha256, page.started_at, tiers)

    async def quiesce(self, tier_id: str) -> None:
        """Nothing new for the tier."""
        await self._transition("quiesce", tier_id)

    async def drain(self, tier_id: str, timeout_s: float) -> bool:
        """Whether nothing runs in it."""
        return await self._transition("drain", tier_id, timeout_s=timeout_s)

    async def readmit(self, tier_id: str) -> bool:
        """Whether it is open and ready."""
        return await self._transition("readmit", tier_id)

    async def activate(self, sha256: str) -> None:
        """The file of that digest is at work."""
        body: dict[str, JsonValue] = {"sha256": sha256, "confirm": True}
        order = self._question("status", timeout_s=_ACTIVATION_S)
        reply = await _ask(replace(order, path="/v1/admin/activate", query={}, body=body))
        if reply.get("applied") is not True or reply.get("installed_config_sha256") != sha256:
            raise InstallFailed(_INVALID, is_unsure=True)

    async def _transition(
        self, action: str, tier_id: str, *, timeout_s: float = _TIMEOUT_S
    ) -> bool:
        reply = await _ask(self._question(action, tier_id, timeout_s=timeout_s))
        return judge(action, reply, _rows(action, reply, tier_id)) is None

    async def _read(self, question: Question) -> _Page:
        try:
            return msgspec.convert(await _ask(question), _Page)
        except msgspec.ValidationError:
            raise InstallFailed(_INVALID, is_unsure=True) from None

    def _question(self, action: str, tier_id: str | None = None, *, timeout_s: float) -> Question:
        order = Order(action, tier_id, None, self.url, timeout_s, CLOSED_FOR, is_confirmed=True)
        return order.question(self.environ)


def _rows(action: str, reply: Mapping[str, JsonValue], tier_id: str | None) -> list[Row]:
    try:
        return [*read_rows(action, reply, tier_id)]
    except CommandFailed as failed:
        raise InstallFailed(failed.failure.code, is_unsure=True) from None


async def _ask(question: Question) -> dict[str, JsonValue]:
    try:
        return await ask_router(question)
    except CommandFailed as failed:
        is_unsure = failed.failure.status is Exit.TRANSPORT
        raise InstallFailed(failed.failure.code, is_unsure=is_unsure) from None
