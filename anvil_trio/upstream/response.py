"""An upstream reply as httpx sees it, for the requests that go through an `AsyncClient`."""

import httpx
import trio

from anvil_trio.upstream.stream import End, Head, UpstreamStream

__all__ = ["response_of"]


class _Body(httpx.AsyncByteStream):
    """The rest of a reply. An iterator and no generator: it may be left before its end."""

    def __init__(self, stream: UpstreamStream) -> None:
        self._stream = stream

    def __aiter__(self) -> "_Body":
        return self

    async def __anext__(self) -> bytes:
        item = await self._stream.receive()
        if isinstance(item, End):
            raise StopAsyncIteration
        assert isinstance(item, bytes), "a second head"
        return item

    async def aclose(self) -> None:
        await self._stream.aclose()


async def response_of(stream: UpstreamStream) -> httpx.Response:
    """The response whose head has come; it owns the stream. Cancelled or failed, that is closed."""
    try:
        head = await stream.receive()
    except BaseException:
        with trio.CancelScope(shield=True):  # aclose never waits
            await stream.aclose()
        raise
    assert isinstance(head, Head), "a reply without a head"
    return httpx.Response(head.status, headers=list(head.headers), stream=_Body(stream))
