"""An engine without a socket: every reply is scripted, every connection is counted.

`FakeUpstream` is an `UpstreamTransport` for the exchange and an `httpx.AsyncBaseTransport` for
probes. A reply's body reads a memory channel: a script fills it beforehand, a test may go on
filling it through `FakeCall.feed`. Nothing here draws lots and time is trio's alone, so that under
a MockClock and a seeded scheduler the same seed gives the same run.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

import httpx
import outcome
import trio
import trio.testing

from anvil_trio.upstream.response import response_of
from anvil_trio.upstream.stream import END, End, HandOn, Head, Received, Request, flow_by_receiving
from tests.support.fake_stream import FakeStream, Pipe
from tests.support.told import Told

__all__ = [
    "BROKEN_WRITE",
    "END",
    "JSON",
    "REFUSED",
    "SSE",
    "STALLED_CONNECT",
    "STALLED_WRITE",
    "Dial",
    "FakeCall",
    "FakeUpstream",
    "Fault",
    "Head",
    "Reply",
    "Step",
    "models",
    "reply",
    "stream",
]

JSON = ((b"content-type", b"application/json"),)
SSE = ((b"content-type", b"text/event-stream"),)


class Dial(Enum):
    """How far a request comes before the engine has all of it."""

    WRITTEN = auto()
    REFUSED = auto()
    CONNECT_STALLS = auto()
    WRITE_STALLS = auto()
    WRITE_BREAKS = auto()


class Fault(Enum):
    """What may happen in the place of a reply's next bytes."""

    STALL = auto()  # nothing ever comes
    RESET = auto()  # the connection breaks
    CUT = auto()  # the connection ends before the reply does
    MALFORMED = auto()  # bytes come that are no HTTP
    LATE = auto()  # the system gave the connection up


Step: TypeAlias = Head | bytes | End | float | Fault
"""One thing a reply does; a number is a silence of that many seconds."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted reply: how the request arrives, then step by step what comes back."""

    steps: tuple[Step, ...] = ()
    dial: Dial = Dial.WRITTEN


def reply(
    body: bytes = b"",
    *,
    status: int = 200,
    headers: tuple[tuple[bytes, bytes], ...] = JSON,
    after_s: float = 0.0,
) -> Reply:
    """A whole reply, its head `after_s` seconds after the request."""
    steps: list[Step] = [after_s] if after_s else []
    steps.append(Head(status, headers))
    if body:
        steps.append(body)
    return Reply((*steps, END))


def stream(*steps: Step, head_after_s: float = 0.0, is_whole: bool = True) -> Reply:
    """An event stream of `steps`; ended well unless `is_whole` is false (then: silence)."""
    before: tuple[Step, ...] = (head_after_s,) if head_after_s else ()
    after: tuple[Step, ...] = (END,) if is_whole else ()
    return Reply((*before, Head(200, SSE), *steps, *after))


def models(*names: str) -> Reply:
    """What `/v1/models` of an engine that serves `names` answers."""
    return reply(json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())


REFUSED = Reply(dial=Dial.REFUSED)
STALLED_CONNECT = Reply(dial=Dial.CONNECT_STALLS)
STALLED_WRITE = Reply(dial=Dial.WRITE_STALLS)
BROKEN_WRITE = Reply(dial=Dial.WRITE_BREAKS)

_RAISED: dict[Fault, type[httpx.TransportError]] = {
    Fault.RESET: httpx.ReadError,
    Fault.CUT: httpx.RemoteProtocolError,
    Fault.MALFORMED: httpx.RemoteProtocolError,
    Fault.LATE: httpx.ReadTimeout,
}


class FakeCall:
    """One request that was written, and its reply: an `UpstreamStream`."""

    def __init__(
        self,
        request: Request | httpx.Request,
        body: bytes,
        script: Reply,
        *,
        is_told: bool = False,
    ) -> None:
        self.request, self.body = request, body
        self._is_told = is_told
        self._untaken: outcome.Outcome[Received] | None = None
        self.closed = trio.Event()
        self.closed_at = math.inf
        self.taken: list[tuple[float, Received]] = []
        self.was_read_whole = False
        self._quiet_until = -math.inf
        self.is_written = True
        self._feed, self._steps = trio.open_memory_channel[Step](math.inf)
        self.feed(*script.steps)

    def feed(self, *steps: Step) -> None:
        """Add to the reply; whoever waits for it goes on."""
        for step in steps:
            self._feed.send_nowait(step)

    async def write_rest(self) -> None:
        """Nothing is left."""

    def take(self) -> Received | None:
        """Nothing is known before it was waited for."""
        return None

    async def receive(self) -> Received:
        """The next step that is no silence. Cancelled, nothing is lost, no silence starts anew."""
        assert not self.was_read_whole, "received after the end"
        assert not self.closed.is_set(), "received after close"
        untaken, self._untaken = self._untaken, None
        if untaken is not None:
            return untaken.unwrap()
        while True:
            if trio.current_time() < self._quiet_until:
                await trio.sleep_until(self._quiet_until)
            step = await self._steps.receive()
            if isinstance(step, float | int):
                self._quiet_until = trio.current_time() + step
            elif step is Fault.STALL:
                self._quiet_until = math.inf
            elif isinstance(step, Fault):
                raise _RAISED[step]("scripted")
            else:
                self.was_read_whole = isinstance(step, End)
                self.taken.append((trio.current_time(), step))
                return step

    async def flow(self, hand_on: HandOn) -> bool:
        """Step by step, in the task that waits, or as over a socket by another."""
        if self._is_told:
            return await Told(self, hand_on).until_enough()
        return await flow_by_receiving(self.receive, hand_on)

    def untake(self, what: "outcome.Outcome[Received]") -> None:
        """Nobody was there for it: it comes again, as what is not read from a socket would."""
        self._untaken, self.was_read_whole = what, False
        if isinstance(what, outcome.Value):
            self.taken.pop()

    async def aclose(self) -> None:
        """Count this connection as closed, at once; never waits, as the protocol says."""
        self.closed_at = min(self.closed_at, trio.current_time())
        self.closed.set()


def _nothing() -> None:
    pass


async def _write(dial: Dial) -> None:
    if dial is Dial.WRITE_STALLS:
        await trio.sleep_forever()
    await trio.lowlevel.checkpoint()
    if dial is Dial.WRITE_BREAKS:
        raise httpx.WriteError("scripted")


def _chat_default() -> Reply:
    return reply(b"{}")


@dataclass(eq=False)
class FakeUpstream(httpx.AsyncBaseTransport):
    """One member's engine. By default healthy, serving `model`, answering chat with `{}`.

    `chat` is used up reply by reply, then `chat_default` (a `Reply`, or a function of the call's
    number) answers. `health` and `models` answer every probe, and `pages`
    whatever path is among them (likewise, numbered by path). `is_warm`: a connection is always
    idle, and takes a request at once. `is_told`: a reply that flows is handed on by another task
    than its reader's. `attempts` counts every `send`;
    `opened` every connection that was made; `closed` every one that is gone again.
    """

    model: str = "served-model"
    chat: list[Reply] = field(default_factory=list)
    chat_default: Reply | Callable[[int], Reply] = field(default_factory=_chat_default)
    health: Reply = field(default_factory=lambda: reply(b"{}"))
    models: Reply | None = None  # None: lists `model`
    pages: dict[str, Reply | Callable[[int], Reply]] = field(default_factory=dict)
    health_path: str = "/health"
    is_warm: bool = False
    is_told: bool = False
    attempts: int = 0
    opened: int = 0
    calls: list[FakeCall] = field(default_factory=list)
    serve_stream: Callable[[trio.abc.Stream], None] | None = None
    dial: Dial = Dial.WRITTEN  # of streams alone
    closed_streams: int = 0
    _half_open: int = 0  # connections given up before the request was written
    _arrived: trio.Event = field(default_factory=trio.Event)

    @property
    def closed(self) -> int:
        """How many of the opened connections are closed."""
        return (
            self._half_open + self.closed_streams + sum(call.closed.is_set() for call in self.calls)
        )

    @property
    def chats(self) -> list[FakeCall]:
        """The chat calls, in the order in which they were written."""
        return list(self._calls_to(lambda path: path.endswith("/chat/completions")))

    @property
    def probes(self) -> list[FakeCall]:
        """The health and identity calls, in the order in which they were written."""
        return list(self._calls_to(lambda path: not path.endswith("/chat/completions")))

    def calls_to(self, path: str) -> list[FakeCall]:
        """The calls to one path, in the order in which they were written."""
        return list(self._calls_to(lambda known: known == path))

    def _calls_to(self, wanted: Callable[[str], bool]) -> Iterator[FakeCall]:
        return (call for call in self.calls if wanted(call.request.url.path))

    async def call(self, number: int) -> FakeCall:
        """The call of that number, counted from 0; waits until it was written."""
        while len(self.calls) <= number:
            await self._arrived.wait()
        return self.calls[number]

    def _script(self, path: str) -> Reply:
        if path == self.health_path:
            return self.health
        if path == "/v1/models":
            return models(self.model) if self.models is None else self.models
        if path in self.pages:
            page = self.pages[path]
            return page if isinstance(page, Reply) else page(len(self.calls_to(path)))
        if self.chat:
            return self.chat.pop(0)
        made = self.chat_default
        return made if isinstance(made, Reply) else made(len(self.chats))

    def send_now(self, request: Request, body: bytes) -> FakeCall | None:
        """Take it at once if `is_warm` and the script lets it be written."""
        if not self.is_warm:
            return None
        script = self._script(request.url.path)
        if script.dial is not Dial.WRITTEN:
            self.chat.insert(0, script)
            return None
        self.attempts += 1
        self.opened += 1
        return self._taken(request, body, script)

    async def send(self, request: Request | httpx.Request, body: bytes) -> FakeCall:
        """Take one request as its script says."""
        self.attempts += 1
        script = self._script(request.url.path)
        await trio.lowlevel.checkpoint()
        if script.dial is Dial.REFUSED:
            raise httpx.ConnectError("scripted")
        if script.dial is Dial.CONNECT_STALLS:
            await trio.sleep_forever()
        self.opened += 1
        try:
            await _write(script.dial)
        except BaseException:
            self._half_open += 1
            raise
        return self._taken(request, body, script)

    def _taken(self, request: Request | httpx.Request, body: bytes, script: Reply) -> FakeCall:
        call = FakeCall(request, body, script, is_told=self.is_told)
        self.calls.append(call)
        self._arrived.set()
        self._arrived = trio.Event()
        return call

    async def open_stream(self) -> trio.abc.Stream:
        """One connection in memory; `serve_stream` has the other end, in a task of its nursery."""
        self.attempts += 1
        assert self.serve_stream is not None, "nobody listens"
        await trio.lowlevel.checkpoint()
        if self.dial is Dial.REFUSED:
            raise httpx.ConnectError("scripted")
        if self.dial is Dial.CONNECT_STALLS:
            await trio.sleep_forever()
        ours, theirs = trio.testing.memory_stream_pair()
        self.opened += 1
        there, back = Pipe(), Pipe()
        self.serve_stream(FakeStream(theirs, back, there, _nothing))
        return FakeStream(ours, there, back, self._close_stream)

    def _close_stream(self) -> None:
        self.closed_streams += 1

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same for an `AsyncClient`: returns with the head."""
        return await response_of(await self.send(request, await request.aread()))

    async def aclose(self) -> None:
        """Nothing idle is kept."""
