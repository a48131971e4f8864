"""One request to `/a2a`: answered at once, when its task has ended, or by a stream of its life.

Who follows a task or waits for its end has a seat, of which there are fewer than places: whoever
only asks is never kept out by those who stay. When the router stops, everybody in a seat is told
how the task stands and goes; the task goes on after the restart, and may be followed again.
"""

from math import inf

import trio

from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Code, problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller
from anvil_trio.exchange.closing import Closing, rejected
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.media.a2a_desk import A2aDesk, A2aHeaders, Followed, Waiting
from anvil_trio.media.a2a_stream import TaskStream, event_of
from anvil_trio.media.exchanges import RpcExchange
from anvil_trio.media.failures import error_of
from anvil_trio.media.gateway import Gateway, Reply
from anvil_trio.media.json_rpc import render_error
from anvil_trio.operations.model import Operation, Refusal, State

__all__ = ["run_a2a"]

_STALLED = Closing(Outcome.CLIENT_STALLED, problem(Code.REQUEST_TIMEOUT))
_TIME_TO_TELL_S = 1.0
"""How long before its deadline a request that waits for a task is answered all the same."""


async def run_a2a(
    house: House,
    generation: Generation,
    call: Call,
    caller: Caller,
    gateway: Gateway,
    said: A2aHeaders,
) -> None:
    """Answer one body, once, and leave one record. Raises nothing but `trio.Cancelled`."""
    await _A2aExchange(house, generation, call, caller, A2aDesk(gateway), said).run()


class _A2aExchange(RpcExchange):
    def __init__(
        self,
        house: House,
        generation: Generation,
        call: Call,
        caller: Caller,
        desk: A2aDesk,
        said: A2aHeaders,
    ) -> None:
        super().__init__(house, generation, call, caller, RequestKind.A2A)
        self._desk, self._said = desk, said
        self._until = trio.CancelScope()  # cancelled when the router begins to stop

    async def _answer(self, body: bytes) -> Closing:
        answer = await self._desk.answer(body, self._said)
        if isinstance(answer, Reply):
            return self._whole(answer)
        self._to = answer.to
        with self._house.followers.seated(self._until) as is_seated:
            if not is_seated:
                is_over = self._house.is_draining
                return rejected(problem(Code.SHUTTING_DOWN if is_over else Code.SERVER_BUSY))
            if isinstance(answer, Waiting):
                return await self._wait(answer)
            return await self._follow(answer)

    async def _wait(self, answer: Waiting) -> Closing:
        """The task when it has ended, or as it stands when nobody can wait any longer."""
        found = await self._desk.submit(answer.sent)
        if isinstance(found, Operation):
            with trio.move_on_at(self._watch.life.deadline - _TIME_TO_TELL_S), self._until:
                await self._until_settled(found)
            service, principal = self._desk.gateway.operations, self._desk.gateway.principal
            found = await service.operation(principal, found.id)
        return self._whole(await self._desk.told(answer.to, found))

    async def _until_settled(self, operation: Operation) -> None:
        """Return when it has ended, or waits for a human."""
        gateway = self._desk.gateway
        if _is_settled(operation.state):
            return
        async with gateway.operations.events(
            gateway.principal, operation.id, operation.sequence
        ) as events:
            if not isinstance(events, Refusal):
                async for event in events:
                    if _is_settled(event.state):
                        return

    async def _follow(self, answer: Followed) -> Closing:
        """Each step of the task as it is taken, until it has ended."""
        found = answer.of
        if not isinstance(found, Operation):
            submitted = await self._desk.submit(found)
            if isinstance(submitted, Refusal):
                return self._whole(await self._desk.told(answer.to, submitted))
            found = submitted
        self._watch.life.deadline = inf  # a task has its own deadlines
        limits = self._generation.limits
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            *self._call.id_headers(),
        ]
        stream = TaskStream(
            self._desk,
            answer.to,
            self._caller,
            headers,
            heartbeat_s=limits.heartbeat_s,
            stall_s=limits.stall_s,
        )
        with self._until:
            last = await stream.tell(found)
            return _STALLED if last is None else Closing(Outcome.SERVED, tail=last)
        return Closing(Outcome.SHUTDOWN, problem(Code.SHUTTING_DOWN))

    def _last_event(self, closing: Closing) -> bytes:
        """A stream that did not come to its end says so."""
        if closing.problem is None:
            return closing.tail
        return event_of(render_error(self._to, error_of(closing.problem)))


def _is_settled(state: State) -> bool:
    return state.terminal or state is State.AWAITING_APPROVAL
