"""One generation after the other over one house: the first at start, the next by activation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import trio

from anvil_trio.activation.order import ActivationOrder
from anvil_trio.activation.rules import find_restart_need
from anvil_trio.actors.messages import Refused
from anvil_trio.assembly import MakeTransport, open_generation, open_house
from anvil_trio.bugs import where_raised
from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.secrets import Secrets
from anvil_trio.config.source import ConfigSource
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.lifetime import Lifetime
from anvil_trio.facts import Readiness
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.names import LEGACY_CLIENT, TierId
from anvil_trio.net.arrivals import open_arrivals
from anvil_trio.tiers.ranking import Strategy
from anvil_trio.upstream.transport import MemberTransport
from anvil_trio.web.activation import Activated
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator

__all__ = ["Generations", "open_app", "open_generations"]

_SLACK_S = 1.0
_READ_S = 10.0
"""How long the file may take to be read: a disk can hang, and what else changes waits meanwhile."""

_NOBODY_READY = Readiness(0, frozenset())


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A configuration that was read and may take over."""

    config: RouterConfig
    secrets: Secrets


class Generations:
    """The generation that new requests begin under, and those that older ones still hang on.

    An activation builds the next one beside it, probes its members, and then, in one step without
    a checkpoint, lets it take over. Until that step every failure leaves all as it was.
    """

    def __init__(
        self,
        house: House,
        nursery: trio.Nursery,
        source: ConfigSource | None,
        make_transport: MakeTransport,
    ) -> None:
        self._house, self._nursery, self._source = house, nursery, source
        self._make_transport = make_transport
        self._readers = trio.CapacityLimiter(1)
        self._configs: dict[Lifetime, RouterConfig] = {}  # of every generation that is not closed
        self._secrets = Secrets({})
        self._current: Generation | None = None

    def current(self) -> Generation:
        """The generation under which a request begins now."""
        assert self._current is not None, "the first generation is begun before anybody asks"
        return self._current

    async def begin(self, config: RouterConfig, secrets: Secrets) -> None:
        """Put the first configuration to work; what building it raises is raised."""
        life = Lifetime()
        life.take_over()
        self._current = await self._nursery.start(self._live, _Candidate(config, secrets), life)
        self._secrets = secrets

    async def activate(self, order: ActivationOrder) -> Activated | Problem:
        """Put the bytes of that digest to work if the router's own file holds them, and only then.

        The file is read once. Cancelled, it has taken over or not at all.
        """
        if self._source is None:
            return problem(Code.ACTIVATION_REQUIRES_RESTART)
        got = await self._house.management.changes.enter(LEGACY_CLIENT)
        if isinstance(got, Refused):
            return problem(Code.ACTIVATION_FAILED)
        with got:
            candidate = await self._candidate(self._source, order.sha256)
            if isinstance(candidate, Problem):
                return candidate
            old = self.current().config
            need = find_restart_need(old, candidate.config, self._secrets, candidate.secrets)
            if need is not None:
                return need
            if order.is_dry_run:
                return Activated(old, candidate.config, is_applied=False)
            return await self._succeed(candidate)

    async def _candidate(self, source: ConfigSource, sha256: str) -> _Candidate | Problem:
        """What the file holds. A thread that hangs is left behind: it changes nothing."""
        with trio.move_on_after(_READ_S):
            return await trio.to_thread.run_sync(
                _read, source, sha256, abandon_on_cancel=True, limiter=self._readers
            )
        return problem(Code.ACTIVATION_INVALID)

    async def _succeed(self, candidate: _Candidate) -> Activated | Problem:
        old = self.current()
        life = Lifetime(old.life)
        try:
            new: Generation = await self._nursery.start(self._live, candidate, life)
            assert new.found is not None, "a generation that was opened has readers"
            with trio.move_on_after(_probe_bound_s(candidate.config)):
                await new.found.until_known()
            self._take_over(old, new, candidate.secrets)
        except Exception as bug:  # noqa: BLE001 - of any kind: the old generation goes on
            log_event(LogEvent.ACTIVATION_FAILED, **where_raised(bug))
            return problem(Code.ACTIVATION_FAILED)
        finally:
            if self._current is old:
                life.retire()
        return Activated(old.config, candidate.config, is_applied=True)

    def _take_over(self, old: Generation, new: Generation, secrets: Secrets) -> None:
        """The one step: whoever begins after it begins under the new generation."""
        known = {TierId(tier.id) for tier in old.config.tiers}
        for tier in new.config.tiers:
            self._reconfigure(tier, new, is_new=TierId(tier.id) not in known)
        self._house.meters.cover(new.config)  # before what it has found so far is published
        new.life.take_over()
        old.life.retire()
        self._current, self._secrets = new, secrets
        log_event(LogEvent.CONFIG_ACTIVATED, sha256=new.config.sha256)

    def _reconfigure(self, tier: Tier, new: Generation, *, is_new: bool) -> None:
        """Tell a tier what it is from now on; what was quiesced stays so, also if it comes back.

        Readiness comes with the members, so that nobody who waits is refused in between; those
        that are to be quiesced are not ready until they have heard so.
        """
        assert new.found is not None, "a generation that was opened has readers"
        tier_id, intents = TierId(tier.id), self._house.management.intents.current
        handle = self._house.tiers[tier_id]
        readiness = new.found.readiness_of(tier_id)
        if readiness is None and not is_new:
            readiness = _NOBODY_READY
        closed = [member for target, member in intents.reasons if target == tier_id]
        if readiness is not None:
            open_ones = readiness.eligible - {member for member in closed if member is not None}
            readiness = new.life.dated(Readiness(readiness.generation, open_ones))
        handle.reconfigure(
            tier.member_ceilings,
            new.found.ceiling_of(tier_id),
            Strategy(tier.replica_strategy),
            readiness,
        )
        for member in closed:
            handle.set_quiesced(True, member_id=member)

    async def _live(
        self,
        candidate: _Candidate,
        life: Lifetime,
        *,
        task_status: trio.TaskStatus[Generation] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """One generation from its building to its end, with the tiers that no other has."""
        config, house = candidate.config, self._house
        self._configs[life] = config
        try:
            for tier in config.tiers:
                if TierId(tier.id) not in house.tiers:
                    house.tiers.open(tier)
            async with open_generation(
                house, config, candidate.secrets, self._make_transport, life
            ) as generation:
                task_status.started(generation)
                await life.until_retired()
        finally:
            del self._configs[life]
            self._close_unused(config)

    def _close_unused(self, config: RouterConfig) -> None:
        used = {TierId(tier.id) for each in self._configs.values() for tier in each.tiers}
        for tier_id in {TierId(tier.id) for tier in config.tiers} - used:
            self._house.tiers.close(tier_id)
            self._house.ways.pop(tier_id, None)


@asynccontextmanager
async def open_generations(
    house: House,
    config: RouterConfig,
    secrets: Secrets,
    *,
    source: ConfigSource | None = None,
    make_transport: MakeTransport = MemberTransport,
) -> AsyncIterator[Generations]:
    """The first generation at work, and every later one, until the block is left.

    Without a `source` there is nothing to activate: a restart is asked for.
    """
    async with trio.open_nursery() as nursery:
        generations = Generations(house, nursery, source, make_transport)
        await generations.begin(config, secrets)
        yield generations
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_app(
    config: RouterConfig, secrets: Secrets, source: ConfigSource | None = None
) -> AsyncIterator[App]:
    """The whole application over one house, for any ASGI server."""
    auth_env = config.server.auth_env
    token = None if auth_env is None else secrets.get(auth_env)
    assert (token is None) == (auth_env is None), "a named token was resolved at start"
    async with (
        open_arrivals() as arrivals,
        open_house(config, media=secrets.media) as house,
        open_generations(
            house,
            config,
            secrets,
            source=source,
            make_transport=partial(MemberTransport, arrivals=arrivals),
        ) as generations,
    ):
        _tell_of_idle_limits(config, secrets)
        authenticator = Authenticator(token, secrets.clients)
        yield App(house, generations.current, authenticator, generations.activate)


def _read(source: ConfigSource, wanted_sha256: str) -> _Candidate | Problem:
    """What the file holds, if it is what was asked for. Runs in a thread."""
    try:
        data = source.read()
        if sha256(data).hexdigest() != wanted_sha256:
            return problem(Code.ACTIVATION_MISMATCH)
        config = source.parse(data)
        return _Candidate(config, source.resolve(config))
    except ConfigError:
        return problem(Code.ACTIVATION_INVALID)


def _probe_bound_s(config: RouterConfig) -> float:
    """A probe asks twice, each with its own timeout, and a first timeout is no verdict yet."""
    settings = config.router
    once_s = 2 * settings.availability_probe_timeout + settings.availability_probe_interval
    return settings.availability_failures * once_s + _SLACK_S


def _tell_of_idle_limits(config: RouterConfig, secrets: Secrets) -> None:
    """A limit on a client that no credential makes bounds nobody: a typing error, or work to come.

    It does not refuse the start: taking a client out of the policy must be one edit.
    """
    known = {LEGACY_CLIENT, *(client.client_id for client in secrets.clients)}
    for client_id in sorted(config.server.budgets.keys() - known):
        log_event(LogEvent.CLIENT_LIMIT_IDLE, setting=f"server.client_limits.{client_id}")
