"""One small GET or POST, bounded in bytes and in time; every fault of the way is a value.

No redirect is followed, no proxy used and no environment read: the client given must be one of
`upstream.client.open_probe_client`, which leaves all of that out and knows the member's address.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import httpx
import trio

from anvil_trio.facts import Answer, Silence

__all__ = ["get_small", "post_small"]


async def get_small(
    client: httpx.AsyncClient,
    path: str,
    *,
    key: str | None,
    timeout_s: float,
    max_bytes: int,
    query: Mapping[str, str] | None = None,
    accept: str = "application/json",
) -> Answer | Silence:
    """What is at `path`; `timeout_s` bounds the whole call. Closes what it opened, however left."""
    headers = [(b"accept", accept.encode())]
    if key:
        headers.append((b"authorization", b"Bearer " + key.encode()))
    request = client.build_request("GET", path, headers=headers, params=query)
    return await _ask(client, request, timeout_s, max_bytes)


async def post_small(
    client: httpx.AsyncClient,
    url: str,
    body: bytes,
    *,
    timeout_s: float,
    max_bytes: int,
    content_type: bytes = b"application/json",
) -> Answer | Silence:
    """What is answered to this body; `timeout_s` bounds the whole call, connecting included."""
    headers = [(b"content-type", content_type)]
    request = client.build_request("POST", url, headers=headers, content=body)
    return await _ask(client, request, timeout_s, max_bytes)


async def _ask(
    client: httpx.AsyncClient, request: httpx.Request, timeout_s: float, max_bytes: int
) -> Answer | Silence:
    with trio.move_on_after(timeout_s):
        try:
            return await _read(await client.send(request, stream=True), max_bytes)
        except httpx.TimeoutException:
            return Silence.TIMED_OUT
        except httpx.HTTPError:
            return Silence.BROKEN
    return Silence.TIMED_OUT


async def _read(response: httpx.Response, max_bytes: int) -> Answer:
    """The answer with at most `max_bytes` of body; what is longer is left unread."""
    try:
        return Answer(response.status_code, await _bounded(response.stream, max_bytes))
    finally:
        with trio.CancelScope(shield=True):  # closing an upstream stream never waits
            await response.aclose()


async def _bounded(stream: object, max_bytes: int) -> bytes | None:
    assert isinstance(stream, httpx.AsyncByteStream)
    parts = aiter(stream)
    assert isinstance(parts, AsyncGenerator), "httpx wraps a body in a generator"
    body = bytearray()
    async with aclosing(parts):
        async for part in parts:
            body += part
            if len(body) > max_bytes:
                return None
    return bytes(body)
