"""`GET /artifacts/{id}`: the bytes of one artifact, or a range of them, for whoever owns it."""

from collections.abc import Awaitable
from http import HTTPStatus

import trio

from anvil_trio.actors.messages import Refused
from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller
from anvil_trio.exchange.closing import Closing, broken, rejected
from anvil_trio.exchange.delivery import problem_headers
from anvil_trio.exchange.frame import Exchange
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.media.gateway import Gateway, MediaScope
from anvil_trio.media.ranges import Span, Unsatisfied, read_span
from anvil_trio.operations.ids import is_artifact_id
from anvil_trio.operations.model import Artifact, Refusal, RefusalCode

__all__ = ["Wanted", "run_download"]

_CHUNK_BYTES = 262_144
"""How much is read and handed over at a time."""

_NOT_FOUND = problem(Code.ARTIFACT_NOT_FOUND)
_TOO_LARGE = problem(
    Code.ARTIFACT_RANGE_INVALID,
    message="The artifact is larger than one reply: ask for ranges of at most 16 MiB.",
)
_STALLED = Closing(Outcome.CLIENT_STALLED, problem(Code.REQUEST_TIMEOUT))


class Wanted:
    """Which artifact is asked for, which of its bytes, and whether only the head is."""

    def __init__(self, artifact_id: str, asked: str | None, *, is_head: bool) -> None:
        self.artifact_id, self.asked, self.is_head = artifact_id, asked, is_head


async def run_download(
    house: House,
    generation: Generation,
    call: Call,
    caller: Caller,
    gateway: Gateway,
    wanted: Wanted,
) -> None:
    """Answer once, and leave one record. Raises nothing but `trio.Cancelled`."""
    await _Download(house, generation, call, caller, gateway, wanted).run()


class _Download(Exchange[Caller]):
    def __init__(
        self,
        house: House,
        generation: Generation,
        call: Call,
        caller: Caller,
        gateway: Gateway,
        wanted: Wanted,
    ) -> None:
        super().__init__(house, generation, call, caller, RequestKind.ARTIFACT)
        self._record.beside(RequestKind.ARTIFACT)
        self._gateway, self._wanted = gateway, wanted
        self._status = HTTPStatus.OK

    async def _admit(self) -> Closing:
        self._watch.begin()
        self._watch.chosen()  # no member is waited for: only the total deadline bounds this
        place = await self._house.protocols.enter(self._call.client_id)
        if isinstance(place, Refused):
            return rejected(problem(Code.SERVER_BUSY))
        with place:
            found = await self._find()
            if isinstance(found, Problem):
                return rejected(found)
            span = read_span(self._wanted.asked, found.size)
            if isinstance(span, Unsatisfied):
                self._headers = [(b"content-range", span.content_range.encode())]
                what = _TOO_LARGE if span.is_too_large else problem(Code.ARTIFACT_RANGE_INVALID)
                return rejected(what)
            self._describe(found, span)
            return await self._send_span(found, span)

    async def _find(self) -> Artifact | Problem:
        if not self._gateway.may(MediaScope.READ):
            return problem(Code.SCOPE_DENIED)
        if not is_artifact_id(self._wanted.artifact_id):
            return _NOT_FOUND
        gateway = self._gateway
        found = await gateway.operations.artifact(gateway.principal, self._wanted.artifact_id)
        return _problem_of(found) if isinstance(found, Refusal) else found

    def _describe(self, artifact: Artifact, span: Span) -> None:
        self._headers = [
            (b"content-type", artifact.media_type.encode()),
            (b"content-length", b"%d" % span.length),
            (b"accept-ranges", b"bytes"),
            (b"cache-control", b"private, no-store"),
            (b"x-content-type-options", b"nosniff"),
            *self._call.id_headers(),
        ]
        if not span.is_whole:
            self._status = HTTPStatus.PARTIAL_CONTENT
            self._headers.append((b"content-range", span.content_range.encode()))

    async def _send_span(self, artifact: Artifact, span: Span) -> Closing:
        """Hand over all but the last bytes, which are told after the place was given back."""
        at, end = span.start, span.start + (0 if self._wanted.is_head else span.length)
        while at < end:
            size = min(_CHUNK_BYTES, end - at)
            data = await self._gateway.operations.read_artifact(artifact, at, size)
            if isinstance(data, Refusal) or not data:
                self._headers = []
                what = _problem_of(data)
                return broken(what) if self._caller.has_started else rejected(what)
            at += len(data)
            if at == end:
                return Closing(Outcome.SERVED, tail=data)
            if not await self._within(self._hand_over(data)):
                return _STALLED
        return Closing(Outcome.SERVED)

    async def _hand_over(self, data: bytes) -> None:
        if not self._caller.has_started:
            await self._caller.start(self._status, self._headers)
        await self._caller.send(data)

    async def _within(self, work: Awaitable[None]) -> bool:
        with trio.move_on_after(self._server.client_stall_timeout_s) as patience:
            await work
        return not patience.cancelled_caught

    async def _deliver(self, closing: Closing) -> bool:
        """Say the last words; False if they were not taken.

        Bytes that broke off have none: the connection ends before the body does.
        """
        if closing.problem is not None and self._caller.has_started:
            return True
        with trio.move_on_after(self._server.client_stall_timeout_s):
            if closing.problem is None:
                body = closing.tail
                if not self._caller.has_started:
                    await self._caller.start(self._status, self._headers)
            else:
                body = self._call.dialect.render_problem(closing.problem)
                head = [*problem_headers(closing.problem, body), *self._call.id_headers()]
                await self._caller.start(closing.problem.status, [*head, *self._headers])
            await self._caller.end(body)
            return True
        return False


def _problem_of(refusal: Refusal | bytes) -> Problem:
    """What a refusal of the service means for whoever downloads; no bytes mean that it is gone."""
    if isinstance(refusal, Refusal) and refusal.code is RefusalCode.UNAVAILABLE:
        return problem(Code.MEDIA_UNAVAILABLE)
    return _NOT_FOUND
