"""Services beside chat on real sockets: a caller that leaves, and audio that breaks."""

import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import trio

from tests.purpose.bodies import PATHS, ask_of
from tests.support.running_router import (
    TOKEN,
    RunningRouter,
    eventually,
    open_engines,
    open_router,
    raw_client,
)

pytestmark = pytest.mark.wire

TABLES = """
[[router.purpose_models]]
id = "embed.main"
kind = "embedding"
model = "embed.main"
base_url = "URL/v1"

[[router.purpose_models]]
id = "rank.main"
kind = "rerank"
model = "rank.main"
base_url = "URL/v1"

[[router.audio_routes]]
id = "stt.main"
purpose = "stt"
model = "served-stt"
base_url = "URL/v1"

[[router.audio_routes]]
id = "tts.main.one"
purpose = "tts"
model = "served-tts"
base_url = "URL/v1"
source_sample_rate = 24000
"""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
PIECE = b"8\r\n\x00\x01\x02\x03\x04\x05\x06\x07\r\n"


@dataclass
class Service:
    """An engine that says what it is told to, and then waits for its end."""

    says: bytes = b""
    ends: bool = False
    asked: trio.Event = field(default_factory=trio.Event)
    closed: int = 0
    opened: int = 0

    async def handle(self, stream: trio.SocketStream) -> None:
        """One connection."""
        self.opened += 1
        try:
            await stream.receive_some(65_536)
            self.asked.set()
            await stream.send_all(self.says)
            while not self.ends and await stream.receive_some(65_536):
                pass
        except trio.BrokenResourceError:
            pass
        finally:
            self.closed += 1
            await stream.aclose()


@asynccontextmanager
async def open_stage(folder: Path, service: Service) -> AsyncIterator[RunningRouter]:
    """A router process in front of that engine."""
    async with open_engines("direct") as urls, trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        await nursery.start(trio.serve_listeners, service.handle, listeners)
        more = TABLES.replace("URL", f"http://127.0.0.1:{port}")
        async with open_router(folder, urls, more=more) as router:
            yield router
        nursery.cancel_scope.cancel()


def request_of(kind: str) -> bytes:
    """A good request of that kind as it is on the wire."""
    content_type, body = ask_of(kind)
    head = (
        f"POST {PATHS[kind]} HTTP/1.1\r\nhost: r\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-type: {content_type.decode()}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def test_a_caller_that_leaves_is_told_to_the_engine_within_a_second(tmp_path):
    """CAN-04's kind on every route, by FIN and by RST: each connection is closed, exactly once."""
    service = Service()
    async with open_stage(tmp_path, service) as router:
        for number, (kind, is_reset) in enumerate(
            [(kind, is_reset) for kind in PATHS for is_reset in (False, True)], start=1
        ):
            service.asked = trio.Event()
            async with raw_client(router) as client:
                await client.stream.send_all(request_of(kind))
                with trio.fail_after(5):
                    await service.asked.wait()
                if is_reset:
                    linger = struct.pack("ii", 1, 0)
                    client.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

            async def is_closed(expected: int = number) -> bool:
                return service.closed == expected

            await eventually(is_closed, 1.0)
        assert service.opened == service.closed == 2 * len(PATHS)

        async def all_recorded() -> bool:
            return len(router.records()) == service.opened

        await eventually(all_recorded, 1.0)
        assert {record["workload_outcome"] for record in router.records()} == {"disconnected"}


async def test_audio_that_breaks_never_looks_whole(tmp_path):
    """The reply is cut off, with and without a length, so that a client must notice."""
    service = Service(says=HEAD % b"audio/pcm" + PIECE, ends=True)
    lengthy = b"HTTP/1.1 200 OK\r\ncontent-type: audio/pcm\r\ncontent-length: 99\r\n\r\n12345678"
    async with (
        open_stage(tmp_path, service) as router,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        content_type, body = ask_of("speech")
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": content_type.decode()}
        for says in (service.says, lengthy):
            service.says = says
            with pytest.raises(httpx.RemoteProtocolError):
                await client.post(
                    f"{router.base_url}{PATHS['speech']}", content=body, headers=headers
                )
        service.says = HEAD % b"audio/pcm" + PIECE + b"0\r\n\r\n"
        whole = await client.post(
            f"{router.base_url}{PATHS['speech']}", content=body, headers=headers
        )
        assert whole.content == bytes(range(8))


async def test_events_that_break_end_in_an_error(tmp_path):
    """A whole reply whose last event says what went wrong."""
    event = b'data: {"type":"speech.audio.delta","audio":"AQI="}\n\n'
    chunk = b"%x\r\n%s\r\n" % (len(event), event)
    service = Service(says=HEAD % b"text/event-stream" + chunk, ends=True)
    async with (
        open_stage(tmp_path, service) as router,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        content_type, body = ask_of("speech_events")
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": content_type.decode()}
        reply = await client.post(
            f"{router.base_url}{PATHS['speech']}", content=body, headers=headers
        )
        assert reply.content.startswith(event)
        assert b'"code":"upstream_error"' in reply.content
