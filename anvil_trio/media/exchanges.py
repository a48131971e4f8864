"""One request to `/mcp` or `/a2a`, from an authenticated call to its record.

    place -> body -> desk -> answer -> record

The places are the protocols' own: however many are taken, chat has all of its permits, and the
other way round. What must be given back is a `with` inside the `life` of `exchange/frame`.
"""

from abc import abstractmethod

import trio

from anvil_trio.actors.messages import Refused
from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller, Header
from anvil_trio.exchange.closing import Closing, rejected
from anvil_trio.exchange.delivery import LAST_WORDS_S, problem_headers
from anvil_trio.exchange.frame import Exchange
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.media.failures import error_of
from anvil_trio.media.gateway import Reply
from anvil_trio.media.json_rpc import RpcId, render_error

__all__ = ["MAX_BODY_BYTES", "RpcExchange"]

MAX_BODY_BYTES = 65_536
"""How large a body may be; what is large is an artifact, and travels by itself."""

_BODY_S = 60.0
"""How long a body may take in all."""


class RpcExchange(Exchange[Caller]):
    """What both protocols share. A whole answer is delivered after the place was given back."""

    def __init__(
        self, house: House, generation: Generation, call: Call, caller: Caller, kind: RequestKind
    ) -> None:
        super().__init__(house, generation, call, caller, kind)
        self._record.beside(kind)
        self._reply: Reply | None = None
        self._to: RpcId | None = None  # of whoever is told of a failure, once it is known

    async def _admit(self) -> Closing:
        place = await self._house.protocols.enter(self._call.client_id)
        if isinstance(place, Refused):
            return rejected(problem(Code.SERVER_BUSY))
        with place:
            body = await self._caller.read_body(
                MAX_BODY_BYTES, stall_s=self._server.client_stall_timeout_s, total_s=_BODY_S
            )
            if isinstance(body, Problem):
                return rejected(body)
            self._record.request_bytes = len(body)
            self._watch.begin()
            self._watch.chosen()  # no member is waited for: only the total deadline bounds this
            return await self._answer(body)

    @abstractmethod
    async def _answer(self, body: bytes) -> Closing:
        """All that is done for one body."""
        ...

    def _whole(self, reply: Reply) -> Closing:
        """An answer that is told at once and whole."""
        self._reply = reply
        outcome = Outcome.REQUEST_REJECTED if reply.is_refused else Outcome.SERVED
        return Closing(outcome, tail=reply.body)

    async def _deliver(self, closing: Closing) -> bool:
        """Say the last words, after everything was given back; False if they were not taken."""
        is_short = closing.problem is not None
        patience_s = LAST_WORDS_S if is_short else self._server.client_stall_timeout_s
        with trio.move_on_after(patience_s):
            if self._caller.has_started:
                await self._caller.end(self._last_event(closing))
            else:
                status, headers, body = self._last_words(closing)
                await self._caller.start(status, [*headers, *self._call.id_headers()])
                await self._caller.end(body)
            return True
        return False

    def _last_event(self, closing: Closing) -> bytes:
        """How a stream ends; only A2A has streams."""
        return closing.tail

    def _last_words(self, closing: Closing) -> tuple[int, list[Header], bytes]:
        """The head and the body of an answer that has not begun."""
        what = closing.problem
        if what is not None:
            body = render_error(self._to, error_of(what))
            return what.status, problem_headers(what, body), body
        reply = self._reply
        assert reply is not None, "what has not begun and did not fail is whole"
        headers: list[Header] = [(b"cache-control", b"no-store"), *reply.headers]
        if reply.body:
            headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", b"%d" % len(reply.body)))
        return reply.status, headers, reply.body
