"""One request to a service beside chat, from an authenticated call to its terminal record.

    permit -> body -> parse -> one service -> (speech: one of few places) -> one attempt -> record

It is an exchange with less to decide than chat: a name stands for one service, which has no
readiness, no ceiling and no line. What must be given back is a `with` inside the `life` of
`exchange/frame`.
"""

from dataclasses import replace

import trio

from anvil_trio.actors.messages import Refused
from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller
from anvil_trio.exchange.closing import Closing, broken, rejected
from anvil_trio.exchange.delivery import deliver
from anvil_trio.exchange.frame import Exchange
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.services import Service
from anvil_trio.names import DIRECT_MEMBER, ClientId
from anvil_trio.purpose.asks import Ask, Manner
from anvil_trio.purpose.events import error_event
from anvil_trio.purpose.reading import Reading
from anvil_trio.purpose.relay import Bounds, Patience, ServiceRelay, Telling
from anvil_trio.upstream.build import service_headers
from anvil_trio.upstream.client import open_stream

__all__ = ["run_service"]

_ROOM = ClientId("_services")
"""Under whom these requests are counted inside: `client_limits` are about chat, and no client has
this name."""

_BODY_S = 300.0
"""How long a body may take in all."""

_SPEECH = frozenset({RequestKind.STT, RequestKind.TTS})
_LAST_WORDS_S = 1.0


async def run_service(
    house: House, generation: Generation, call: Call, caller: Caller, reading: Reading
) -> None:
    """Serve one request: at most one attempt, one record, and an answer unless they left.

    Raises nothing but `trio.Cancelled`: a bug here ends this exchange with a 500, not the process.
    """
    await _Exchange(house, generation, call, caller, reading).run()


class _Exchange(Exchange[Caller]):
    """A request to a service between its call and its closing."""

    def __init__(
        self, house: House, generation: Generation, call: Call, caller: Caller, reading: Reading
    ) -> None:
        super().__init__(house, generation, call, caller, reading.kind)
        self._reading = reading
        self._headers = [(b"cache-control", b"no-store"), *call.id_headers()]
        self._manner: Manner | None = None

    async def _admit(self) -> Closing:
        """The front door, the body, and which service is meant."""
        permit = await self._house.admission.enter(_ROOM)
        if isinstance(permit, Refused):
            return rejected(problem(Code.SERVER_BUSY))
        with permit:
            body = await self._caller.read_body(
                self._reading.max_body_bytes,
                stall_s=self._server.client_stall_timeout_s,
                total_s=_BODY_S,
            )
            if isinstance(body, Problem):
                return rejected(body)
            self._record.request_bytes = len(body)
            ask = self._reading.parse(body)
            if isinstance(ask, Problem):
                return rejected(ask)
            service = self._generation.services.find(ask.kind, ask.name)
            if service is None:
                self._record.unknown_model()
                return rejected(self._unknown(ask))
            self._record.routed(ask.kind, service)
            return await self._place(ask, service)

    def _unknown(self, ask: Ask) -> Problem:
        """404, naming those that there are: names that the operator gave for callers to use."""
        names = ", ".join(self._generation.services.names(ask.kind))
        if ask.names_route:
            words = f"The audio route does not exist here; those that do: {names}."
            return problem(Code.ROUTE_NOT_FOUND, message=words, param="route")
        words = f"The model does not exist here; those that do: {names}."
        return problem(Code.MODEL_NOT_FOUND, message=words, param="model")

    async def _place(self, ask: Ask, service: Service) -> Closing:
        """Speech has few places of its own, taken for the attempt alone; nobody waits for one."""
        if ask.kind not in _SPEECH:
            return await self._attempt(ask, service)
        place = await self._house.audio.enter(self._call.client_id)
        if isinstance(place, Refused):
            return rejected(problem(Code.SERVER_BUSY))
        with place:
            return await self._attempt(ask, service)

    async def _attempt(self, ask: Ask, service: Service) -> Closing:
        """The one attempt on the one service (R009): nothing here is ever tried again."""
        outgoing = ask.outgoing(service.model)
        upstream = service.at(ask.path)
        headers = service_headers(
            upstream.key,
            self._call.gateway_request_id,
            content_type=outgoing.content_type,
            accept=outgoing.accept,
        )
        began_at = trio.current_time()
        self._record.selected(DIRECT_MEMBER, began_at)
        self._record.attempted_at = began_at
        try:
            async with open_stream(upstream, outgoing.body, headers) as stream:
                self._watch.dispatched(has_heartbeats=False)
                patience = Patience(service.timeout_s)
                patience.spent(trio.current_time() - began_at)
                relay = ServiceRelay(
                    stream,
                    ask,
                    self._bounds(),
                    patience=patience,
                    record=self._record,
                    caller=self._caller,
                    headers=self._headers,
                )
                try:
                    return _own_words(await relay.run(self._telling(service)), ask)
                finally:
                    self._manner = relay.manner
        except UpstreamFailed as failure:
            return broken(failure.problem)
        finally:
            self._record.upstream_ended_at = trio.current_time()

    def _bounds(self) -> Bounds:
        return Bounds(
            max_reply_bytes=self._reading.max_reply_bytes,
            max_event_bytes=self._server.max_event_bytes,
            stall_s=self._server.client_stall_timeout_s,
        )

    def _telling(self, service: Service) -> Telling:
        return Telling(
            service.name, self._call.gateway_request_id, service.sample_rate, self._watch.began_at
        )

    async def _deliver(self, closing: Closing) -> bool:
        """Say the last words, after everything was given back.

        Audio that broke has none: its connection ends before its body does, which every client
        can tell from a whole one.
        """
        if not self._caller.has_started or closing.problem is None:
            return await deliver(
                closing,
                self._call,
                self._caller,
                self._headers,
                stall_s=self._server.client_stall_timeout_s,
                translator=None,
            )
        if self._manner is not Manner.EVENTS:
            return True
        with trio.move_on_after(_LAST_WORDS_S):
            await self._caller.end(error_event(closing.problem))
            return True
        return False


def _own_words(closing: Closing, ask: Ask) -> Closing:
    """A prompt that is too long for an engine stands in this request's own field."""
    what = closing.problem
    if what is None or what.param != "messages":
        return closing
    return Closing(closing.outcome, replace(what, param=ask.subject), closing.tail)
