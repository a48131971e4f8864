"""A closed loop: so many callers, each of which asks again as soon as it is answered."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import trio

__all__ = ["Load", "Outcome", "run_load"]


@dataclass(frozen=True)
class Load:
    """What is asked, of whom: `requests` plain chat requests of `tokens` tokens each."""

    url: str
    model: str
    callers: int
    requests: int
    tokens: int
    key: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of it. Times are seconds; `latencies` is one per request that succeeded, sorted."""

    elapsed_s: float
    latencies: tuple[float, ...]
    failures: int

    @property
    def requests_per_second(self) -> float:
        """Successful requests per second from the first request to the last answer."""
        return len(self.latencies) / self.elapsed_s

    def percentile(self, share: float) -> float:
        """The nearest-rank percentile of the latencies; 0 if there are none."""
        if not self.latencies:
            return 0.0
        rank = min(int(share * len(self.latencies)), len(self.latencies) - 1)
        return self.latencies[rank]


async def run_load(load: Load) -> Outcome:
    """Ask until every request of `load` was asked once. A failure is counted, not asked again."""
    latencies: list[float] = []
    numbers = iter(range(load.requests))
    headers = {"authorization": f"Bearer {load.key}"} if load.key else {}
    limits = httpx.Limits(max_connections=None, keepalive_expiry=4.0)
    async with httpx.AsyncClient(
        base_url=load.url, headers=headers, limits=limits, timeout=None, trust_env=False
    ) as client:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(load.callers):
                nursery.start_soon(_call, client, load, numbers, latencies)
        elapsed_s = trio.current_time() - began
    return Outcome(elapsed_s, tuple(sorted(latencies)), load.requests - len(latencies))


async def _call(
    client: httpx.AsyncClient, load: Load, numbers: Iterator[int], latencies: list[float]
) -> None:
    for number in numbers:
        asked = {
            "model": load.model,
            "messages": [{"role": "user", "content": f"question {number}"}],
            "max_tokens": load.tokens,
            "ignore_eos": True,
        }
        began = trio.current_time()
        try:
            response = await client.post("/v1/chat/completions", json=asked)
        except httpx.TransportError:
            continue
        if response.status_code == httpx.codes.OK:
            latencies.append(trio.current_time() - began)
