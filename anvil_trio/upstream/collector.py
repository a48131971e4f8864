"""The way to the trace collector: a literal address, so nothing is resolved, and nothing else.

No redirect is followed, no proxy used and no environment read; a hop to another place could take
what spans say out of the private network.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import trio

from anvil_trio.facts import Answer, Silence
from anvil_trio.net.small_get import post_small
from anvil_trio.upstream.client import open_probe_client
from anvil_trio.upstream.stream import UpstreamTransport

__all__ = ["EXPORT_S", "open_collector"]

EXPORT_S = 1.0
"""How long one whole export may take, from connecting to the last byte of the answer."""

_MAX_ANSWER_BYTES = 65_536


@asynccontextmanager
async def open_collector(
    transport: UpstreamTransport, url: str
) -> AsyncIterator[Callable[[bytes], Awaitable[Answer | Silence]]]:
    """What posts one body to `url`, once, and says what came back; it owns `transport`."""
    client = open_probe_client(transport, url)
    try:
        yield partial(post_small, client, url, timeout_s=EXPORT_S, max_bytes=_MAX_ANSWER_BYTES)
    finally:
        with trio.move_on_after(1, shield=True):
            await transport.aclose()
