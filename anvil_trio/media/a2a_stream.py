"""The life of one task as server-sent events, with a heartbeat where nothing happens.

A heartbeat cuts into the reading of the next step. That is safe because the service's iterators are
no generators: a read that was cut has lost nothing, and the next one goes on where it was.
"""

from collections.abc import AsyncIterator, Awaitable
from http import HTTPStatus

import trio

from anvil_trio.exchange.caller import Caller, Header
from anvil_trio.exchange.stream_relay import HEARTBEAT
from anvil_trio.media.a2a_desk import A2aDesk
from anvil_trio.media.a2a_tasks import SentTask, tell_artifact, tell_status
from anvil_trio.media.json_rpc import RpcId, render_error, render_result
from anvil_trio.media.refusals import a2a_error
from anvil_trio.operations.model import Event, Operation, Refusal, RefusalCode, State
from anvil_trio.views.shape import Shape

__all__ = ["TaskStream", "event_of"]

_UNAVAILABLE = Refusal(RefusalCode.UNAVAILABLE)


class TaskStream:
    """One caller's view of one task. Nothing is sent twice, and nothing after the end.

    A caller that does not take the head, or an event, within `stall_s` is given up.
    """

    def __init__(
        self,
        desk: A2aDesk,
        to: RpcId,
        caller: Caller,
        headers: list[Header],
        *,
        heartbeat_s: float,
        stall_s: float,
    ) -> None:
        self._desk, self._to = desk, to
        self._caller, self._headers = caller, headers
        self._heartbeat_s, self._stall_s = heartbeat_s, stall_s

    async def tell(self, operation: Operation) -> bytes | None:
        """Tell all but the last event, which is returned; None if the caller stopped reading."""
        if not await self._within(self._caller.start(HTTPStatus.OK, self._headers)):
            return None
        first = self._event(SentTask(task=await self._desk.task(operation)))
        if operation.state.terminal:
            return first
        if not await self._send(first):
            return None
        gateway = self._desk.gateway
        async with gateway.operations.events(
            gateway.principal, operation.id, operation.sequence
        ) as events:
            if isinstance(events, Refusal):
                return self._refused(events)
            return await self._tell_steps(events)

    async def _tell_steps(self, events: AsyncIterator[Event]) -> bytes | None:
        while True:
            event: Event | None = None
            with trio.move_on_after(self._heartbeat_s):
                try:
                    event = await anext(events)
                except StopAsyncIteration:  # the service has ended before the task has
                    return self._refused(_UNAVAILABLE)
            data = HEARTBEAT if event is None else await self._step(event)
            if event is not None and event.state.terminal:
                return data
            if not await self._send(data):
                return None

    async def _step(self, event: Event) -> bytes:
        return await self._made_by(event) + self._event(tell_status(event))

    async def _made_by(self, event: Event) -> bytes:
        """What a task that has ended well has made, told before its end is."""
        if event.state is not State.COMPLETED:
            return b""
        gateway = self._desk.gateway
        found = await gateway.operations.operation(gateway.principal, event.operation_id)
        if isinstance(found, Refusal):
            return b""
        made = await gateway.artifacts_of(found)
        return b"".join(self._event(tell_artifact(one, gateway.origin)) for one in made)

    def _event(self, shape: Shape) -> bytes:
        return event_of(render_result(self._to, shape))

    def _refused(self, refusal: Refusal) -> bytes:
        return event_of(render_error(self._to, a2a_error(refusal)))

    async def _send(self, data: bytes) -> bool:
        return await self._within(self._caller.send(data))

    async def _within(self, work: Awaitable[None]) -> bool:
        with trio.move_on_after(self._stall_s) as patience:
            await work
        return not patience.cancelled_caught


def event_of(data: bytes) -> bytes:
    """One event that holds this JSON, which has no line end in it."""
    return b"data: " + data + b"\n\n"
