"""A closed loop: so many callers, each of which asks again as soon as it is answered.

Each has a connection of its own that is kept, and costs little, so that what is measured is not the
callers themselves.
"""

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import trio

from benchmarks.chat_wire import FAULTS, Reply, count_tokens, render_request
from benchmarks.percentiles import percentile

__all__ = ["Load", "Outcome", "open_connection", "read_reply", "run_load"]

_EVERY_TOKEN = {"ignore_eos": True}
_READ_BYTES = 65_536
_OK = 200


@dataclass(frozen=True)
class Load:
    """What is asked, of whom: `requests` chat requests of `tokens` tokens each.

    A request that takes longer than `timeout_s` has failed. `more` are further members of each
    request: by default that the reply be as long as allowed.
    """

    url: str
    model: str
    callers: int
    requests: int
    tokens: int
    key: str | None = None
    is_stream: bool = False
    timeout_s: float = 120.0
    more: Mapping[str, object] = field(default_factory=_EVERY_TOKEN.copy)

    def request(self, number: int) -> bytes:
        """One of the requests, as bytes."""
        asked = {
            "model": self.model,
            "messages": [{"role": "user", "content": f"question {number}"}],
            "max_tokens": self.tokens,
            **({"stream": True} if self.is_stream else {}),
            **self.more,
        }
        return render_request(self.url, "/v1/chat/completions", self.key, asked)


@dataclass(frozen=True)
class Outcome:
    """What came of it. Times are seconds, sorted, one per request that succeeded.

    `firsts` are the times to the first bytes of each reply's body; `tokens` counts the events of
    streams that carry some.
    """

    elapsed_s: float
    latencies: tuple[float, ...]
    failures: int
    firsts: tuple[float, ...] = ()
    tokens: int = 0

    @property
    def requests_per_second(self) -> float:
        """Successful requests per second from the first request to the last answer."""
        return len(self.latencies) / self.elapsed_s

    def percentile(self, share: float) -> float:
        """The nearest-rank percentile of the latencies; 0 if there are none."""
        return percentile(self.latencies, share)


async def open_connection(url: str) -> trio.abc.Stream:
    """A connection to the host of an `http` or `https` URL. Raises OSError."""
    where = urlsplit(url)
    is_tls = where.scheme == "https"
    host = where.hostname or ""
    stream = await trio.open_tcp_stream(host, where.port or (443 if is_tls else 80))
    if not is_tls:
        return stream
    return trio.SSLStream(
        stream, ssl.create_default_context(), server_hostname=host, https_compatible=True
    )


async def read_reply(stream: trio.abc.Stream) -> tuple[Reply, bytes, float]:
    """Read one reply to its end: it, its body, and when the first of that came.

    Raises trio.BrokenResourceError if it breaks off, and one of `FAULTS` if it is no reply.
    """
    reply, parts, first_at = Reply(), list[bytes](), 0.0
    while not reply.is_over:
        data = await stream.receive_some(_READ_BYTES)
        if not data:
            if not reply.end():
                raise trio.BrokenResourceError("the connection ended before the reply did")
            break
        part = reply.feed(bytes(data))
        if part:
            first_at = first_at or trio.current_time()
            parts.append(part)
    return reply, b"".join(parts), first_at or trio.current_time()


async def run_load(load: Load) -> Outcome:
    """Ask until every request of `load` was asked once. A failure is counted, not asked again."""
    callers = _Callers(load)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(load.callers):
            nursery.start_soon(callers.call)
    return Outcome(
        elapsed_s=trio.current_time() - began,
        latencies=tuple(sorted(callers.latencies)),
        failures=load.requests - len(callers.latencies),
        firsts=tuple(sorted(callers.firsts)),
        tokens=callers.tokens,
    )


class _Callers:
    """What the callers of one load have in common."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._numbers: Iterator[int] = iter(range(load.requests))
        self.latencies: list[float] = []
        self.firsts: list[float] = []
        self.tokens = 0

    async def call(self) -> None:
        """One caller: ask and count as long as there are numbers; connect anew where need be."""
        is_asked_out = False
        while not is_asked_out:
            try:
                is_asked_out = await self._call_on_one_connection()
            except (OSError, trio.BrokenResourceError, trio.TooSlowError, *FAULTS):
                continue

    async def _call_on_one_connection(self) -> bool:
        """Whether there is nothing left to ask."""
        number = next(self._numbers, None)
        if number is None:
            return True
        async with await open_connection(self._load.url) as stream:
            while number is not None:
                if not await self._ask(stream, self._load.request(number)):
                    return False
                number = next(self._numbers, None)
        return True

    async def _ask(self, stream: trio.abc.Stream, request: bytes) -> bool:
        """Whether the connection is kept."""
        began = trio.current_time()
        with trio.fail_after(self._load.timeout_s):
            await stream.send_all(request)
            reply, body, first_at = await read_reply(stream)
        tokens = count_tokens(body) if self._load.is_stream else 0
        if reply.status == _OK and tokens is not None:
            self.latencies.append(trio.current_time() - began)
            self.firsts.append(first_at - began)
            self.tokens += tokens
        return reply.keeps_connection
