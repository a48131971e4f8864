"""Asks the engines of tiers with `max_concurrency = "auto"` how much they run at a time."""

from collections.abc import Callable, Mapping
from http import HTTPStatus

import httpx
import trio

from anvil_trio.config.model import RouterConfig
from anvil_trio.facts import Answer
from anvil_trio.names import DIRECT_MEMBER, TierId
from anvil_trio.net.small_get import get_small
from anvil_trio.signals.board import Key
from anvil_trio.signals.server_info import PAGES, parse_places

__all__ = ["CeilingReader"]


class CeilingReader:
    """Reads each auto tier's engine at the interval of the probes, beside them.

    `publish` is called with a tier's ceiling when it is first known and whenever it changes; it
    must neither wait nor raise. Until then the tier has none. What was known stays while an
    engine does not answer: a ceiling is a fact of how it was started.
    """

    def __init__(
        self,
        config: RouterConfig,
        clients: Mapping[Key, httpx.AsyncClient],
        keys: Mapping[TierId, str | None],
        publish: Callable[[TierId, int], None],
    ) -> None:
        self._settings = config.router
        self._clients, self._keys, self._publish = clients, keys, publish
        self._tiers = [TierId(tier.id) for tier in config.tiers if tier.has_auto_ceiling]
        self._known: dict[TierId, int] = {}

    def known(self, tier_id: TierId) -> int | None:
        """The ceiling that a tier's engine has said; None while it has said none."""
        return self._known.get(tier_id)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read until cancelled; an engine that hangs delays no other."""
        async with trio.open_nursery() as nursery:
            for tier_id in self._tiers:
                nursery.start_soon(self._loop, tier_id)
            task_status.started()
            await trio.sleep_forever()

    async def _loop(self, tier_id: TierId) -> None:
        while True:
            due = trio.current_time() + self._settings.availability_probe_interval
            places = await self._read(tier_id)
            if places is not None and places != self._known.get(tier_id):
                self._known[tier_id] = places
                self._publish(tier_id, places)
            await trio.sleep_until(due)

    async def _read(self, tier_id: TierId) -> int | None:
        """The first page that says it, asked in order."""
        for path in PAGES:
            said = await get_small(
                self._clients[tier_id, DIRECT_MEMBER],
                path,
                key=self._keys.get(tier_id),
                timeout_s=self._settings.availability_probe_timeout,
                max_bytes=self._settings.availability_probe_max_bytes,
            )
            if isinstance(said, Answer) and said.status == HTTPStatus.OK and said.body is not None:
                places = parse_places(said.body)
                if places is not None:
                    return places
        return None
