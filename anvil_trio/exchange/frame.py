"""What stands around every exchange, whatever is asked for: its life, its last words, its record.

Everything that must be given back is a `with` inside `life`, which the caller's leaving, the total
deadline or a shutdown cuts at once. So however a request ends, leaving the blocks gives everything
back, each exactly once (R009), and the record is written in `finally`.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from anvil_trio import __version__
from anvil_trio.bugs import where_raised
from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Code, problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Header, Watched
from anvil_trio.exchange.closing import Closing, unheard
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.metering import count_request
from anvil_trio.exchange.outcome import ENDINGS, UPSTREAM_FAILURES, Outcome
from anvil_trio.exchange.relay import lapsed
from anvil_trio.exchange.watch import Cut, Watch
from anvil_trio.log_events import LogEvent, log_event

__all__ = ["Asking", "Exchange"]


Asking = TypeVar("Asking", bound=Watched)


class Exchange(ABC, Generic[Asking]):
    """One request's way through the house; what lies on it is the subclass's."""

    def __init__(
        self,
        house: House,
        generation: Generation,
        call: Call,
        caller: Asking,
        kind: RequestKind = RequestKind.CHAT,
        *,
        is_asked: bool = False,
    ) -> None:
        """`is_asked`: no part of the request is still to be waited for."""
        self._house, self._generation, self._call, self._caller = house, generation, call, caller
        self._server = generation.config.server
        self._watch = Watch(generation.limits, is_asked=is_asked)
        self._headers: list[Header] = []
        self._record = RecordBuilder(
            gateway_request_id=call.gateway_request_id,
            started_at=self._watch.began_at,
            created_unix=house.wall_clock(),
            kind=kind,
            client_id=call.client_id,
            caller=call.ids,
            config_sha256=generation.public_sha256,
            router_version=__version__,
        )

    async def run(self) -> None:
        """From here to the record; raises nothing but `trio.Cancelled`."""
        closing = Closing(Outcome.CANCELLED)  # stands if we are cancelled from outside
        self._house.exchanges.began(self._watch, self._record)
        try:
            self._caller.watch_for_leaving(self._watch.leave)
            closing = await self._live()
            if self._watch.is_gone:
                closing = unheard(closing)
            elif not await self._deliver(closing):
                closing = Closing(Outcome.CLIENT_STALLED)
        finally:
            self._house.exchanges.ended(self._watch)
            self._write_record(closing.outcome)

    async def _live(self) -> Closing:
        """All phases, in which something is held; cut when `life` is."""
        closing: Closing | None = None
        try:
            with self._watch.life:
                closing = await self._admit()
            if closing is None:
                closing = self._cut()
            self._gave_back(closing.outcome)
            if closing.outcome in UPSTREAM_FAILURES:
                request_id, outcome = self._call.gateway_request_id, closing.outcome.value
                log_event(LogEvent.UPSTREAM_FAILED, request_id=request_id, outcome=outcome)
        except Exception as bug:  # noqa: BLE001 - it ends the exchange, not the process
            request_id = self._call.gateway_request_id
            log_event(LogEvent.EXCHANGE_FAILED, request_id=request_id, **where_raised(bug))
            self._gave_back(Outcome.INTERNAL_ERROR)
            return Closing(Outcome.INTERNAL_ERROR, problem(Code.INTERNAL_ERROR))
        return closing

    def _cut(self) -> Closing:
        """Why `life` was cut, and what the caller is to be told."""
        match self._watch.cut:
            case Cut.CLIENT_GONE:
                log_event(LogEvent.CLIENT_DISCONNECTED, request_id=self._call.gateway_request_id)
                return Closing(Outcome.CLIENT_DISCONNECTED)
            case Cut.SHUTDOWN:
                return Closing(Outcome.SHUTDOWN, problem(Code.SHUTTING_DOWN))
            case Cut.TOTAL:
                return Closing(Outcome.REQUEST_TIMEOUT, problem(Code.REQUEST_TIMEOUT))
            case Cut.NO_MEMBER:
                return Closing(Outcome.ADMISSION_TIMEOUT, problem(Code.ADMISSION_TIMEOUT))
            case Cut.ENGINE:
                return lapsed(self._watch.due())

    @abstractmethod
    async def _admit(self) -> Closing:
        """All that something is held for, from the front door on."""
        ...

    @abstractmethod
    async def _deliver(self, closing: Closing) -> bool:
        """The last words, after everything was given back; False if they were not taken."""
        ...

    def _gave_back(self, outcome: Outcome) -> None:
        """Told in the step in which the last thing that was held has been given back."""

    def _write_record(self, outcome: Outcome) -> None:
        self._record.response_bytes = self._caller.bytes_sent
        record = self._record.finish(
            ENDINGS[outcome], now=self._watch.now(), unix_ts=self._house.wall_clock()
        )
        self._house.log.record(record)
        count_request(self._house.meters, outcome, record, self._watch.mean_gap_s)
