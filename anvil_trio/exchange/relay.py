"""One reply's way from the engine to the caller: receive, translate, send; one task.

A relay runs inside the lease and the upstream stream and returns a `Closing`. What the caller is
still to be told is told after both have been given back, so that nothing which is held ever waits
for a caller without a bound.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable

from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem
from anvil_trio.exchange.closing import Closing, broken
from anvil_trio.exchange.deadlines import Due
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.watch import Watch
from anvil_trio.upstream.failures import error_problem
from anvil_trio.upstream.stream import End, Head, Received, UpstreamStream

__all__ = ["Relay", "UnaryRelay", "lapsed"]

MAX_ERROR_BODY = 65_536
_FIRST_SUCCESS, _FIRST_REDIRECT = 200, 300

_LAPSED: dict[Due, tuple[Outcome, Code]] = {
    Due.STARTUP: (Outcome.STARTUP_TIMEOUT, Code.STARTUP_TIMEOUT),
    Due.IDLE: (Outcome.IDLE_TIMEOUT, Code.IDLE_TIMEOUT),
    Due.STALL: (Outcome.CLIENT_STALLED, Code.REQUEST_TIMEOUT),
}


def lapsed(due: Due) -> Closing:
    """The exchange ends because of what has fallen due."""
    outcome, code = _LAPSED[due]
    return Closing(outcome, problem(code))


class _Reading:
    """What both kinds of reply share: the head, and collecting a whole body.

    Whatever was received is stored before anything else is awaited.
    """

    def __init__(
        self, stream: UpstreamStream, watch: Watch, record: RecordBuilder, max_bytes: int
    ) -> None:
        self._stream, self._watch, self._record = stream, watch, record
        self._max_bytes = max_bytes
        self._head: Head | None = None
        self._collected: list[bytes] = []
        self._size = 0

    def _receive(self) -> Awaitable[Received]:
        """The next thing that the engine says; to be awaited at once."""
        return self._stream.receive()

    async def _receive_head(self) -> Head:
        if self._head is None:
            item = await self._receive()
            assert isinstance(item, Head), "a reply begins with its head"
            self._head = item
        return self._head

    async def _collect(self, max_bytes: int) -> bytes:
        """The whole body; more than `max_bytes` is a failure."""
        while True:
            # Most bodies have come with their head: nothing is to be waited for.
            item = self._stream.take() or await self._receive()
            if isinstance(item, End):
                return b"".join(self._collected)
            assert isinstance(item, bytes), "a reply has one head"
            self._watch.progressed(self._watch.now())
            self._size += len(item)
            if self._size > max_bytes:
                raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
            self._collected.append(item)

    async def _refused(self, head: Head) -> Closing:
        """An engine's error answer, as our own fixed words (R012)."""
        try:
            body = await self._collect(MAX_ERROR_BODY)
        except UpstreamFailed:  # its status is what matters
            body = b""
        return broken(error_problem(head.status, head.headers, body))

    def _content_began(self) -> None:
        if self._record.first_content_at is None:
            self._record.first_content_at = self._watch.progressed_at or self._watch.now()


class Relay(_Reading, ABC):
    """A reply that is handed on as it comes, in a lapse that may cut in wherever it waits.

    What was received is stored by then, so `_pump` may be called again.
    """

    async def run(self) -> Closing:
        """Relay until the reply has ended, however it ends. Holds nothing of its own."""
        due = Due.NOTHING
        try:
            while due in {Due.NOTHING, Due.HEARTBEAT}:
                with self._watch.lapse():
                    await self._resume(due)
                    return await self._pump()
                due = self._watch.due()
        except UpstreamFailed as failure:
            return self._broken(failure.problem)
        return self._lapsed(due)

    @abstractmethod
    async def _resume(self, due: Due) -> None:
        """Go on where a lapse cut in: do what is `due`, end what was under way."""

    @abstractmethod
    async def _pump(self) -> Closing:
        """Take what the engine sends until the reply has ended."""

    def _broken(self, what: Problem) -> Closing:
        return broken(what)

    def _lapsed(self, due: Due) -> Closing:
        return lapsed(due)


class UnaryRelay(_Reading):
    """A reply that is read whole; `run` returns the engine's body as the closing's tail.

    There is nothing to do in the meantime, so it needs no lapse: `life` itself ends when the
    engine has been silent for too long, and is moved only where there is something to wait for.
    """

    async def run(self) -> Closing:
        """Read the reply to its end. Raises UpstreamFailed where it breaks."""
        head = await self._receive_head()
        if not is_success(head):
            return await self._refused(head)
        body = await self._collect(self._max_bytes)
        self._content_began()
        return Closing(Outcome.SERVED, tail=body)

    def _receive(self) -> Awaitable[Received]:
        self._watch.follow_engine()
        return self._stream.receive()


def is_success(head: Head) -> bool:
    """Whether the engine answered 2xx; a redirect is not followed and is no success."""
    return _FIRST_SUCCESS <= head.status < _FIRST_REDIRECT
