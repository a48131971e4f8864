"""One request to one server, bounded in time and bytes; whatever goes wrong is a value.

No redirect, no proxy, nothing of the environment, nothing tried twice: these are the router's own
connections.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import httpx
import msgspec
import trio

from anvil_trio.config.model import TierDialect
from anvil_trio.conform.grammar import JsonObject
from anvil_trio.conform.reply import Reply, Trouble
from anvil_trio.conform.voices import Voice
from anvil_trio.upstream.build import request_headers, root_url
from anvil_trio.upstream.stream import Head, UpstreamStream
from anvil_trio.upstream.transport import MemberTransport

__all__ = ["Asker", "Call", "Hear", "Target"]

Hear = Callable[[float, bytes], bool]
"""Told of what each read brought and when, in seconds since the start; False leaves the answer."""

_MAX_BYTES = 16_777_216
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Target:
    """A server, what it calls its model, and the key that opens it. `repr` shows none of it."""

    base_url: str = field(repr=False)
    model: str = field(repr=False)
    key: str | None = field(default=None, repr=False)

    @property
    def api_url(self) -> str:
        """The base URL, ending in `/v1`."""
        base = self.base_url.rstrip("/")
        return base if base.endswith("/v1") else f"{base}/v1"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to be written."""

    method: str
    url: str = field(repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(default=b"", repr=False)


class _Got:
    """An answer as far as it has come."""

    def __init__(self) -> None:
        self.head: Head | None = None
        self.body = bytearray()
        self.trouble: Trouble | None = None
        self.is_left = False


class Asker:
    """Asks one target. Each answer has `timeout_s` seconds, connecting included.

    With `keepalive_s` a connection is used again within that time. Close it when done.
    """

    def __init__(self, target: Target, *, timeout_s: float, keepalive_s: float = 0) -> None:
        self.target, self.timeout_s = target, timeout_s
        self._transport = MemberTransport(target.base_url, keepalive_s=keepalive_s)

    async def aclose(self) -> None:
        """Close what is idle; never waits."""
        await self._transport.aclose()

    def post(self, voice: Voice, body: JsonObject | bytes, *, key: str | None = None) -> Call:
        """A POST in that dialect, with the target's key or another one."""
        dialect = TierDialect.ANTHROPIC if voice.is_messages else TierDialect.OPENAI
        is_stream = isinstance(body, dict) and body.get("stream") is True
        headers = request_headers(
            dialect,
            self.target.key if key is None else key,
            f"req_{secrets.token_hex(16)}",
            accept_stream=is_stream,
        )
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return Call("POST", f"{self.target.api_url}{voice.path}", tuple(headers), data)

    def get(self, path: str) -> Call:
        """A GET of a path from the root of the server."""
        headers = [(b"accept", b"*/*"), (b"accept-encoding", b"identity")]
        if self.target.key:
            headers.append((b"authorization", b"Bearer " + self.target.key.encode()))
        return Call("GET", f"{root_url(self.target.base_url)}{path}", tuple(headers))

    def get_at(self, voice: Voice) -> Call:
        """A GET where that dialect takes only POST."""
        call = self.post(voice, b"")
        return replace(call, method="GET")

    async def ask(self, call: Call, hear: Hear | None = None) -> Reply:
        """What is answered. Never raises for what a server does; cancelled, it is left at once."""
        started = trio.current_time()
        got = _Got()
        with trio.move_on_after(self.timeout_s) as scope:
            try:
                await self._exchange(call, got, hear, started)
            except httpx.ConnectError:
                got.trouble = Trouble.REFUSED
            except httpx.HTTPError:
                got.trouble = Trouble.BROKEN
        if scope.cancelled_caught:
            got.trouble = Trouble.TIMED_OUT
        head = got.head or Head(0)
        return Reply(
            status=head.status or None,
            headers=head.headers,
            body=bytes(got.body),
            trouble=got.trouble,
            is_left=got.is_left,
            total_s=trio.current_time() - started,
        )

    async def during(self, call: Call, work: Callable[[], Awaitable[_Found]]) -> _Found | None:
        """What `work` gives while an answer is under way, which is then left; None if none began.

        `work` is bounded by who gives it.
        """
        request = httpx.Request(call.method, call.url, headers=list(call.headers))
        stream: UpstreamStream | None = None
        try:
            has_begun = False
            with trio.move_on_after(self.timeout_s):
                stream = await self._transport.send(request, call.body)
                head = await stream.receive()
                has_begun = isinstance(head, Head) and isinstance(await stream.receive(), bytes)
            return await work() if has_begun else None
        except httpx.HTTPError:
            return None
        finally:
            if stream is not None:
                await stream.aclose()  # never waits

    async def _exchange(self, call: Call, got: _Got, hear: Hear | None, started: float) -> None:
        request = httpx.Request(call.method, call.url, headers=list(call.headers))
        stream = await self._transport.send(request, call.body)
        try:
            await _read(stream, got, hear, started)
        finally:
            await stream.aclose()  # never waits


async def _read(stream: UpstreamStream, got: _Got, hear: Hear | None, started: float) -> None:
    head = await stream.receive()
    assert isinstance(head, Head), "a reply begins with its head"
    got.head = head
    while isinstance(part := await stream.receive(), bytes):
        got.body += part
        if len(got.body) > _MAX_BYTES:
            got.trouble = Trouble.OVERSIZED
            return
        if hear is not None and not hear(trio.current_time() - started, part):
            got.is_left = True
            return
