"""What passes between a session's two WebSockets: one task for each direction, and the clock.

Each direction holds one message: the next is received when it was taken. So whoever does not read
stops the other, and the `Clock` ends what stands for too long.
"""

import trio

from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.watch import Watch
from anvil_trio.realtime.caller import Goodbye, Message, SessionCaller
from anvil_trio.realtime.clock import Clock, Due, end_of
from anvil_trio.realtime.closes import (
    Close,
    Parting,
    Side,
    close_for,
    parting_of_client,
    parting_of_engine,
)
from anvil_trio.realtime.events import Names
from anvil_trio.upstream.realtime import EngineClosed, EngineSocket

__all__ = ["HURRY_S", "SessionRelay"]

HURRY_S = 0.5
"""How long a client that has closed keeps its place while the engine takes its last messages."""

_GAVE_UP = Parting(Side.CLIENT, Outcome.CLIENT_DISCONNECTED, Close(1001))


class SessionRelay:
    """Both directions of one session, from its accepted handshakes to whichever end is first."""

    def __init__(
        self,
        caller: SessionCaller,
        engine: EngineSocket,
        names: Names,
        *,
        watch: Watch,
        record: RecordBuilder,
    ) -> None:
        self._caller, self._engine, self._names = caller, engine, names
        self._watch, self._record = watch, record
        self._clock = Clock(watch.limits, trio.current_time())
        self._timer = trio.CancelScope()
        self._life = trio.CancelScope()
        self._parting: Parting | None = None

    async def run(self) -> Parting:
        """Relay until one side, or the clock, ends it. Holds nothing of its own."""
        async with trio.open_nursery() as nursery:
            self._life = nursery.cancel_scope
            self._caller.watch_for_goodbye(self._hurry)
            for task in (self._to_engine, self._to_client, self._keep_alive):
                nursery.start_soon(task)
            await self._keep_time()
        return self._parting or _GAVE_UP

    async def _to_engine(self) -> None:
        while True:
            said = await self._caller.receive()
            if isinstance(said, Goodbye):
                return self._part(parting_of_client(said.code))
            self._record.request_bytes += _size(said)
            self._said(Side.CLIENT)
            try:
                await self._engine.send(
                    self._names.to_engine(said) if isinstance(said, str) else said
                )
            except EngineClosed:  # what it said before is still handed on, and then its close
                return self._taken(Side.ENGINE)
            self._taken(Side.ENGINE)

    async def _to_client(self) -> None:
        while True:
            try:
                said = await self._engine.receive()
            except EngineClosed as closed:
                return self._part(parting_of_engine(closed.code))
            now = trio.current_time()
            self._watch.progressed(now)
            if self._record.first_content_at is None:
                self._record.first_content_at = now
            self._said(Side.ENGINE)
            await self._caller.send(self._names.to_client(said) if isinstance(said, str) else said)
            self._taken(Side.CLIENT)

    async def _keep_alive(self) -> None:
        """Ping both, so that whatever stands between keeps the connections; both may be silent.

        A ping is never cut short, which would leave half a frame on its way.
        """
        while True:
            await trio.sleep(self._watch.limits.heartbeat_s)
            await self._caller.ping()
            await self._engine.ping()

    async def _keep_time(self) -> None:
        due = Due.NOTHING
        while due is Due.NOTHING:
            with trio.CancelScope(deadline=self._clock.next_due()) as self._timer:
                await trio.sleep_forever()
            due = self._clock.due(trio.current_time())
        outcome, what = end_of(due)
        self._part(Parting(None, outcome, close_for(what), what))

    def _said(self, by: Side) -> None:
        """A message has come and is handed to the other side."""
        self._clock.said(by, trio.current_time())
        self._tighten()

    def _taken(self, by: Side) -> None:
        self._clock.taken(by, trio.current_time())
        self._tighten()

    def _tighten(self) -> None:
        """Move the open timer only if something now falls due before it ends."""
        self._timer.deadline = min(self._timer.deadline, self._clock.next_due())

    def _hurry(self) -> None:
        self._life.deadline = min(self._life.deadline, trio.current_time() + HURRY_S)

    def _part(self, parting: Parting) -> None:
        """The first to say how it ends is believed."""
        if self._parting is None:
            self._parting = parting
        self._life.cancel()


def _size(message: Message) -> int:
    return len(message.encode()) if isinstance(message, str) else len(message)
