"""One reply's way from a service to its caller: read whole, event by event, or as it comes."""

from collections.abc import Awaitable

import trio

from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.errors import Code, UpstreamFailed, problem
from anvil_trio.exchange.caller import Caller, Header
from anvil_trio.exchange.closing import Closing, broken
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.relay import MAX_ERROR_BODY, is_success
from anvil_trio.purpose.asks import Ask, Finished, Manner, Told
from anvil_trio.purpose.events import EventReader
from anvil_trio.purpose.media_types import media_type, shown_type
from anvil_trio.upstream.failures import error_problem
from anvil_trio.upstream.stream import End, Head, Received, UpstreamStream

__all__ = ["Bounds", "Patience", "ServiceRelay", "Telling"]

_UNUSABLE = problem(Code.UPSTREAM_ERROR)
_STALLED = Closing(Outcome.CLIENT_STALLED, problem(Code.REQUEST_TIMEOUT))


class Patience:
    """How long a service is still waited for, in all. Waiting for the caller does not count."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds

    def spent(self, seconds: float) -> None:
        """So long it was waited for already."""
        self._left_s -= seconds

    async def receive(self, stream: UpstreamStream) -> Received:
        """The next thing it says. Raises UpstreamFailed, also when the patience is over."""
        began_at = trio.current_time()
        item: Received | None = None
        with trio.move_on_after(max(self._left_s, 0)):
            item = await stream.receive()
        self.spent(trio.current_time() - began_at)
        if item is None:
            raise UpstreamFailed(problem(Code.UPSTREAM_TIMEOUT))
        return item


class Bounds:
    """How large a reply and one of its events may be, and how long its caller may not read."""

    def __init__(self, *, max_reply_bytes: int, max_event_bytes: int, stall_s: float) -> None:
        self.max_reply_bytes, self.max_event_bytes = max_reply_bytes, max_event_bytes
        self.stall_s = stall_s


class Telling:
    """What the router tells of a reply beside what the service says."""

    def __init__(
        self, name: str, request_id: str, sample_rate: int | None, began_at: float
    ) -> None:
        self.name = name
        self._request_id, self._sample_rate, self._began_at = request_id, sample_rate, began_at

    def now(self) -> Told:
        """The same at this moment."""
        latency_ms = round(1000 * (trio.current_time() - self._began_at))
        return Told(self.name, self._request_id, latency_ms, self._sample_rate)


class ServiceRelay:
    """Relays the reply on `stream`; whatever is sent before its end is sent from here.

    `headers` are those of a good reply, the content type left out: it is added when it is known.
    """

    def __init__(
        self,
        stream: UpstreamStream,
        ask: Ask,
        bounds: Bounds,
        *,
        patience: Patience,
        record: RecordBuilder,
        caller: Caller,
        headers: list[Header],
    ) -> None:
        self._stream, self._ask, self._bounds = stream, ask, bounds
        self._patience, self._record = patience, record
        self._caller, self.headers = caller, headers
        self._size = 0
        self.manner: Manner | None = None

    async def run(self, told_by: Telling) -> Closing:
        """Relay until the reply has ended. Raises UpstreamFailed where the service fails."""
        head = await self._patience.receive(self._stream)
        assert isinstance(head, Head), "a reply begins with its head"
        if not is_success(head):
            return broken(error_problem(head.status, head.headers, await self._error_body()))
        said = head.header(b"content-type")
        self.manner = self._ask.manner(media_type(said))
        match self.manner:
            case Manner.WHOLE:
                return await self._whole(media_type(said), told_by)
            case Manner.EVENTS:
                return await self._events(shown_type(said), told_by.name)
            case Manner.BYTES:
                return await self._bytes(head)
        return broken(_UNUSABLE)

    async def _whole(self, media: str, told_by: Telling) -> Closing:
        parts = []
        while (data := await self._next()) is not None:
            parts.append(data)
        self._content_began()
        finished = self._ask.finish(media, b"".join(parts), told_by.now())
        if not isinstance(finished, Finished):
            return broken(_UNUSABLE if finished is None else finished)
        self._record.usage = finished.usage
        self.headers += [
            (b"content-type", finished.content_type),
            (b"content-length", b"%d" % len(finished.body)),
        ]
        return Closing(Outcome.SERVED, tail=finished.body)

    async def _events(self, content_type: bytes, name: str) -> Closing:
        reader = EventReader(name, self._bounds.max_event_bytes)
        self.headers.append((b"content-type", content_type))
        data: bytes | None = b""
        while data is not None and reader.fault is None:
            data = await self._next()
            shown = reader.finish() if data is None else reader.feed(data)
            if shown and not await self._send(shown):
                return _STALLED
        return Closing(Outcome.SERVED) if reader.fault is None else broken(reader.fault)

    async def _bytes(self, head: Head) -> Closing:
        self.headers.append((b"content-type", shown_type(head.header(b"content-type"))))
        length = head.header(b"content-length")
        if length is not None and length.isdigit():
            self._check_size(int(length[:20]))
            self.headers.append((b"content-length", length))
        while (data := await self._next()) is not None:
            if not await self._send(data):
                return _STALLED
        return Closing(Outcome.SERVED)

    async def _next(self) -> bytes | None:
        """The next bytes of the body; None at its end. Too many are a failure."""
        item = await self._patience.receive(self._stream)
        if isinstance(item, End):
            return None
        assert isinstance(item, bytes), "a reply has one head"
        self._size += len(item)
        self._check_size(self._size)
        return item

    def _check_size(self, size: int) -> None:
        if size > self._bounds.max_reply_bytes:
            raise UpstreamFailed(_UNUSABLE)

    async def _error_body(self) -> bytes:
        """What a service says of an error, as far as it matters: never more than a little."""
        parts = []
        try:
            while self._size <= MAX_ERROR_BODY and (data := await self._next()) is not None:
                parts.append(data)
        except UpstreamFailed:  # its status is what matters
            return b""
        return b"".join(parts)

    async def _send(self, data: bytes) -> bool:
        """Hand bytes over, the head before the first; False if the caller does not take them."""
        self._content_began()
        if not self._caller.has_started and not await self._within(
            self._caller.start(200, self.headers)
        ):
            return False
        return await self._within(self._caller.send(data))

    async def _within(self, work: Awaitable[None]) -> bool:
        with trio.move_on_after(self._bounds.stall_s) as patience:
            await work
        return not patience.cancelled_caught

    def _content_began(self) -> None:
        if self._record.first_content_at is None:
            self._record.first_content_at = trio.current_time()
