"""One realtime session, from an authenticated handshake to its terminal record.

    permit -> alias -> lease -> one handshake upstream -> accepted -> relay -> last words -> record

It is an exchange like a chat request: whatever must be given back is a `with` inside the `life` of
`exchange/frame`, entered before the next `await`. Permit and lease are held for the whole session.
"""

import trio

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.closing import (
    Closing,
    broken,
    rejected,
    turned_away,
)
from anvil_trio.exchange.delivery import LAST_WORDS_S
from anvil_trio.exchange.generation import Generation, Route
from anvil_trio.exchange.house import House
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.phases import Phase
from anvil_trio.exchange.selection import MemberExchange
from anvil_trio.names import MemberId
from anvil_trio.realtime.caller import SessionCaller
from anvil_trio.realtime.closes import Close, Side, close_for
from anvil_trio.realtime.events import Names, error_event
from anvil_trio.realtime.handshake import Wanted
from anvil_trio.realtime.relay import SessionRelay
from anvil_trio.upstream.build import realtime_headers, realtime_url
from anvil_trio.upstream.realtime import EngineSocket, open_engine_socket

__all__ = ["FAREWELL_S", "run_session"]

FAREWELL_S = 0.3
"""How long an engine is waited for that is told goodbye: its place is still taken."""

_NO_SESSIONS = problem(
    Code.INVALID_REQUEST, message="This model has no realtime sessions.", param="model"
)


async def run_session(
    house: House,
    generation: Generation,
    call: Call,
    caller: SessionCaller,
    wanted: Wanted | Problem,
    *,
    is_beta: bool = False,
) -> None:
    """Serve one session: at most one attempt, one record, and an end in words unless they left.

    `wanted` is what the handshake asks for, or why it cannot be read. Raises nothing but
    `trio.Cancelled`: a bug here ends this session, not the process.
    """
    await _Session(house, generation, call, caller, wanted, is_beta=is_beta).run()


class _Session(MemberExchange[SessionCaller]):
    """A session between its call and its closing."""

    def __init__(
        self,
        house: House,
        generation: Generation,
        call: Call,
        caller: SessionCaller,
        wanted: Wanted | Problem,
        *,
        is_beta: bool,
    ) -> None:
        super().__init__(house, generation, call, caller, RequestKind.REALTIME)
        self._wanted, self._is_beta = wanted, is_beta
        self._close: Close | None = None  # how the client's WebSocket ends, if it is ours to say

    async def _admit(self) -> Closing:
        """The front door, where a session counts as one request of its client; then the alias."""
        permit = await self._house.admission.enter(self._call.client_id)
        if isinstance(permit, Refused):
            return turned_away(permit)
        with permit:
            self._watch.journey.reach(Phase.INSIDE)
            if isinstance(self._wanted, Problem):
                return rejected(self._wanted)
            route = self._find(self._wanted.model)
            if isinstance(route, Problem):
                return rejected(route)
            if route.tier.is_upstream_owned and route.tier.model is None:
                return self._not_admitted(Refused(RefusalReason.NOT_READY))
            return await self._select(route)

    def _find(self, model: str) -> Route | Problem:
        """The one route of the alias, if its tier has sessions; nothing is reserved."""
        route = self._generation.resolve(model)
        if route is None:
            self._record.unknown_model()
            return problem(Code.MODEL_NOT_FOUND, param="model")
        self._record.routed(route.alias, route.tier)
        return route if route.tier.realtime else _NO_SESSIONS

    async def _attempt(self, route: Route, member_id: MemberId) -> Closing:
        wanted = self._wanted
        assert not isinstance(wanted, Problem), "what cannot be read is not attempted"
        self._watch.chosen()
        upstream = route.upstreams[member_id]
        names = Names(wanted.model, route.tier.model or wanted.model)
        url = realtime_url(str(upstream.url), names.model, wanted.intent)
        headers = realtime_headers(
            upstream.key, self._call.gateway_request_id, is_beta=self._is_beta
        )
        self._record.attempted_at = trio.current_time()
        try:
            async with open_engine_socket(
                upstream.at(url), headers, max_message_chars=self._server.max_event_bytes
            ) as engine:
                self._watch.journey.reach(Phase.DISPATCHED)
                self._watch.dispatched(has_heartbeats=False)
                return await self._relay(engine, names)
        except UpstreamFailed as failure:
            return broken(failure.problem)
        finally:
            self._record.upstream_ended_at = trio.current_time()

    async def _relay(self, engine: EngineSocket, names: Names) -> Closing:
        """The engine is there: now the client is accepted. Raises nothing."""
        with trio.move_on_after(self._watch.limits.stall_s) as patience:
            await self._caller.accept(self._call.id_headers(), self._server.max_event_bytes)
        if patience.cancelled_caught:
            return Closing(Outcome.CLIENT_STALLED)
        relay = SessionRelay(self._caller, engine, names, watch=self._watch, record=self._record)
        parting = await relay.run()
        with trio.move_on_after(FAREWELL_S):
            await engine.close(parting.close.code)
        self._close = None if parting.by is Side.CLIENT else parting.close
        return Closing(parting.outcome, parting.problem)

    async def _deliver(self, closing: Closing) -> bool:
        """The last words, after everything was given back; False if they were not taken."""
        with trio.move_on_after(LAST_WORDS_S):
            if not self._caller.has_started:
                if closing.problem is not None:
                    await self._caller.refuse(closing.problem, self._call.id_headers())
                return True
            close = self._close
            if closing.problem is not None:
                close = close or close_for(closing.problem)
                await self._caller.send(error_event(closing.problem, self._call.gateway_request_id))
            if close is not None:
                await self._caller.close(close)
            return True
        return False
