"""What tests of sessions share: settings, and how a session's end is read."""

import json

import trio
from wsproto.utilities import generate_accept_token

from anvil_trio.config.model import ServerSettings
from tests.realtime.fakes import FakeClient
from tests.realtime.stage import Stage

__all__ = ["SERVER", "accept_raw", "never", "reason", "shake_hands_and_sleep", "silent", "told"]

SERVER = ServerSettings(
    admission_timeout_s=10,
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
    max_event_bytes=4096,
    client_limits={"one": 1},
)


def reason(stage: Stage) -> tuple[str, str]:
    """How the only record says that its session ended."""
    (record,) = stage.small.records
    return record.workload_outcome, record.attempts[0].reason if record.attempts else "-"


def told(client: FakeClient) -> str:
    """The code of the error that was the last thing a client was told."""
    last = client.received[-1]
    assert isinstance(last, str)
    event = json.loads(last)
    assert event["type"] == "error"
    return str(event["error"]["code"])


async def never(_connection: object) -> None:
    """An engine that says nothing and hears nothing."""
    await trio.sleep_forever()


async def silent(stream: trio.abc.Stream) -> None:
    """Takes the handshake and never answers."""
    await trio.sleep_forever()


async def shake_hands_and_sleep(stream: trio.abc.Stream) -> None:
    """Accepts, and never reads again; what is sent fills its one buffer."""
    await accept_raw(stream)
    await trio.sleep_forever()


async def accept_raw(stream: trio.abc.Stream) -> None:
    """Accept a handshake by hand."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive_some()
    lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    key = {name.lower(): value for name, value in lines.items()}[b"sec-websocket-key"]
    accept = generate_accept_token(key)
    await stream.send_all(
        b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: " + accept + b"\r\n\r\n"
    )
