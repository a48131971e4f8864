"""Whether a serve is ready: its health page, asked until it answers well or time is over."""

from collections.abc import Awaitable, Callable

import trio

from anvil_trio.facts import Answer
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.model import Serve
from anvil_trio.net.small_get import get_small
from anvil_trio.upstream.client import open_probe_client
from anvil_trio.upstream.transport import MemberTransport

__all__ = ["is_healthy", "wait_until_healthy"]

_TIMEOUT_S = 2.0
_FIRST_PAUSE_S = 0.1
_MAX_BYTES = 65_536
_GOOD = range(200, 400)


async def is_healthy(serve: Serve) -> bool:
    """Whether its health page answers well, within two seconds."""
    url = f"http://127.0.0.1:{serve.port}"
    transport = MemberTransport(url, keepalive_s=0)
    async with open_probe_client(transport, url) as client:
        answer = await get_small(
            client, serve.health, key=None, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES
        )
    return isinstance(answer, Answer) and answer.status in _GOOD


async def wait_until_healthy(
    serve: Serve, is_running: Callable[[], Awaitable[bool]], *, within_s: float, poll_s: float
) -> None:
    """Return once it is healthy and still runs. Raises LifecycleFailed if either fails.

    It is asked often at first, and in the end every `poll_s`.

    A health page that answers proves nothing about a process that is gone: another server may have
    the port.
    """
    pause_s = min(_FIRST_PAUSE_S, poll_s)
    with trio.move_on_after(within_s):
        while True:
            is_good = await is_healthy(serve)
            if not await is_running():
                raise LifecycleFailed(Fault.EXITED)
            if is_good:
                return
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, poll_s)
    raise LifecycleFailed(Fault.NOT_HEALTHY)
