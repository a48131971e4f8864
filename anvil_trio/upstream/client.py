"""One request to one member: `open_stream` for chat, `open_probe_client` for everything small.

This is where an upstream's faults become `UpstreamFailed` with a fixed problem, and where a coded
body becomes plain bytes. There is no other clock here than the one deadline of the dispatch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType

import httpx
import trio

from anvil_trio.config.model import TierDialect
from anvil_trio.errors import Code, UpstreamFailed, problem
from anvil_trio.names import MemberId, RequestId
from anvil_trio.upstream.build import request_headers, root_url
from anvil_trio.upstream.decoding import BodyDecoder, decoder_for
from anvil_trio.upstream.failures import upstream_failed
from anvil_trio.upstream.http1 import render_head
from anvil_trio.upstream.response import response_of
from anvil_trio.upstream.stream import (
    End,
    HandOn,
    Head,
    Received,
    Request,
    UpstreamStream,
    UpstreamTransport,
    flow_by_receiving,
)

__all__ = ["Opening", "Upstream", "open_probe_client", "open_stream"]

_PROBE_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "user-agent": "anvil-trio",
}


_REQUEST_ID = b"x-request-id"


def _nobody_asks() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Upstream:
    """The way to one member of one tier, as requests of one kind use it.

    `connect_timeout_s` bounds connecting, TLS and writing the request, never a read.
    `max_reply_bytes` is the most that a reply which is read whole may have. `on_unreachable` is
    told of every connection that the member refused; it neither waits nor raises.
    """

    member_id: MemberId
    url: httpx.URL = field(repr=False)
    transport: UpstreamTransport = field(repr=False)
    key: str | None = field(repr=False)
    connect_timeout_s: float
    max_reply_bytes: int
    on_unreachable: Callable[[], None] = field(default=_nobody_asks, repr=False)

    origin: bytes = field(init=False, repr=False)
    _heads: dict[object, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", self.url.netloc)

    def at(self, url: str) -> "Upstream":
        """The same member, for a request of another kind."""
        return replace(self, url=httpx.URL(url))

    def request(self, fields: Sequence[tuple[bytes, bytes]]) -> Request:
        """A request with these headers. Raises UpstreamFailed for one that is none."""
        return Request(self.url, self.origin, self._head(fields))

    def chat_request(
        self,
        dialect: TierDialect,
        request_id: RequestId,
        *,
        accept_stream: bool,
        said: Sequence[tuple[bytes, bytes]],
    ) -> Request:
        """One chat request in the dialect of the member's tier.

        What never changes of its head is made once; `said` is what its caller says of the API.
        """
        known = (dialect, accept_stream, said)
        made = self._heads.get(known)
        if made is None:
            fields = request_headers(dialect, self.key, "", accept_stream=accept_stream, said=said)
            made = self._head([one for one in fields if one[0] != _REQUEST_ID])
            if not said:  # what callers say must not fill the memory
                self._heads[known] = made
        head = b"%s%s: %s\r\n" % (made, _REQUEST_ID, request_id.encode())
        return Request(self.url, self.origin, head)

    def _head(self, fields: Sequence[tuple[bytes, bytes]]) -> bytes:
        try:
            return render_head("POST", self.url.raw_path, self.origin, fields)
        except httpx.HTTPError as error:
            raise upstream_failed(error) from None


class _Decoded:
    """A reply with its content coding removed; otherwise the stream it wraps.

    Where httpx would name the fault, what `named` makes of that is raised.
    """

    __slots__ = ("_decoder", "_named", "_stream")

    is_written = True

    def __init__(
        self, stream: UpstreamStream, named: Callable[[httpx.HTTPError], Exception]
    ) -> None:
        self._stream, self._named = stream, named
        self._decoder: BodyDecoder | None = None

    async def write_rest(self) -> None:
        """Nothing is left."""

    def take(self) -> Received | None:
        """What is known already, unless it must be decoded."""
        if self._decoder is not None:
            return None
        try:
            item = self._stream.take()
        except httpx.HTTPError as error:
            raise self._named(error) from None
        if type(item) is Head:
            item, self._decoder = decoder_for(item)
        return item

    async def receive(self) -> Received:
        try:
            if self._decoder is not None:
                return await self._receive_decoded(self._decoder)
            item = await self._stream.receive()
        except httpx.HTTPError as error:
            raise self._named(error) from None
        if type(item) is Head:
            item, self._decoder = decoder_for(item)
        return item

    async def flow(self, hand_on: HandOn) -> bool:
        try:
            if self._decoder is not None:  # one read may be many pieces, or none
                return await flow_by_receiving(self.receive, hand_on)
            return await self._stream.flow(hand_on)
        except httpx.HTTPError as error:
            raise self._named(error) from None

    async def _receive_decoded(self, decoder: BodyDecoder) -> Received:
        if decoder.may_have_more:  # of one read, which can be worth a thousand others' turns
            await trio.lowlevel.checkpoint()
        while not (piece := decoder.take()):
            item = await self._stream.receive()
            if isinstance(item, End):
                decoder.finish()
                return item
            assert isinstance(item, bytes), "a second head"
            decoder.feed(item)
        return piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _as_it_is(error: httpx.HTTPError) -> Exception:
    return error


class Opening:
    """One attempt on one member: `async with open_stream(...) as stream`.

    Entering returns at the dispatch. Leaving closes the stream, also when cancelled, and at once:
    the engine sees its end unless the reply was read whole.
    """

    __slots__ = ("_body", "_on_wait", "_request", "_stream", "_upstream")

    def __init__(
        self, upstream: Upstream, request: Request, body: bytes, on_wait: Callable[[], None]
    ) -> None:
        self._upstream, self._request, self._body = upstream, request, body
        self._on_wait = on_wait
        self._stream: UpstreamStream | None = None

    async def __aenter__(self) -> UpstreamStream:
        """Write the request. Raises UpstreamFailed; cancelled or failed, nothing stays open."""
        upstream = self._upstream
        try:
            stream = upstream.transport.send_now(self._request, self._body)
            if stream is None or not stream.is_written:
                self._on_wait()
                stream = await self._dispatched(stream)
        except httpx.HTTPError as error:
            if isinstance(error, httpx.ConnectError):
                upstream.on_unreachable()
            raise upstream_failed(error) from None
        self._stream = _Decoded(stream, upstream_failed)
        del self._request, self._body  # as long as a prompt, and nothing is tried again
        return self._stream

    async def _dispatched(self, stream: UpstreamStream | None) -> UpstreamStream:
        """Wait until the request is written, no longer than the member's bound."""
        upstream = self._upstream
        with trio.move_on_after(upstream.connect_timeout_s):
            if stream is None:
                return await upstream.transport.send(self._request, self._body)
            await stream.write_rest()
            return stream
        raise UpstreamFailed(problem(Code.CONNECT_TIMEOUT))

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the stream; nothing here waits, so nothing can keep it open."""
        assert self._stream is not None, "left without having been entered"
        await self._stream.aclose()


def open_stream(
    upstream: Upstream,
    body: bytes,
    asked: Request | Sequence[tuple[bytes, bytes]],
    on_wait: Callable[[], None] = _nobody_asks,
) -> Opening:
    """One chat request, attempted exactly once on exactly this member (R009).

    `asked` is the request, or its headers. `on_wait` is called if it cannot be written at once,
    before anything is waited for.

    `receive()` of the stream gives the head first, then plain bytes, and raises only
    `UpstreamFailed`; when it raised, or gave `End`, there is nothing more to receive.
    """
    request = asked if isinstance(asked, Request) else upstream.request(asked)
    return Opening(upstream, request, body, on_wait)


class _ProbeTransport(httpx.AsyncBaseTransport):
    """A member's transport under an `AsyncClient` that must not own it."""

    def __init__(self, transport: UpstreamTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        stream = await self._transport.send(request, await request.aread())
        response = await response_of(_Decoded(stream, _as_it_is))
        response.headers.pop("location", None)  # httpx parses it even if it may not follow it
        return response


def open_probe_client(transport: UpstreamTransport, base_url: str) -> httpx.AsyncClient:
    """An `AsyncClient` over a member's own connections: no redirects, no proxy, no environment.

    Paths given to it begin at the authority root of `base_url`. It has no timeouts of its own: its
    user's cancel scope is the one clock. Closing it leaves `transport` open.
    """
    return httpx.AsyncClient(
        base_url=root_url(base_url),
        transport=_ProbeTransport(transport),
        headers=_PROBE_HEADERS,
        timeout=None,  # noqa: S113 - two clocks would be one too many
        follow_redirects=False,
        trust_env=False,
    )
