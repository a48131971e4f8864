"""`GET /metrics`: asks each actor once, then works in pieces between which requests run.

A thread would not do: it would hold the interpreter for five milliseconds at a time, whoever waits.
"""

from collections.abc import Iterator, Sequence

import trio

from anvil_trio.admission.messages import AdmissionSnapshot
from anvil_trio.errors import Problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.facts import TierSnapshot
from anvil_trio.meters.buffer import Buffer
from anvil_trio.names import TierId
from anvil_trio.views.exposition import TextFormat, format_for, render
from anvil_trio.views.metrics_query import MetricsQuery, parse_metrics_query
from anvil_trio.views.prometheus import ProcessNumbers, Scrape, make_registry
from anvil_trio.views.state_rows import StateRows
from anvil_trio.web.asgi_types import Headers, Send

__all__ = ["answer_metrics", "scrape"]


async def answer_metrics(
    send: Send, house: House, generation: Generation, query: bytes, headers: Headers
) -> Problem | None:
    """Send the metrics, or give what is wrong with the query. No probe runs, no engine is asked."""
    wanted = parse_metrics_query(query, generation.config)
    if isinstance(wanted, Problem):
        return wanted
    accept = b",".join(value for name, value in headers if name == b"accept").decode("latin-1")
    kind = format_for(accept)
    text = await scrape(house, generation, wanted, kind)
    head: Headers = [
        (b"content-type", kind.value.encode()),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept"),
        (b"content-length", b"%d" % len(text)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": text, "more_body": False})
    return None


async def scrape(
    house: House, generation: Generation, wanted: MetricsQuery, kind: TextFormat
) -> bytes:
    """The whole text. Each owner is asked once; no piece of work takes a millisecond."""
    door = await house.admission.inspect()
    tier_ids = [TierId(tier.id) for tier in generation.config.tiers]
    snapshots = {tier_id: await house.tiers[tier_id].inspect() for tier_id in tier_ids}
    operations = [] if house.operations is None else await house.operations.census()
    state = _state(generation, wanted, door, snapshots, operations)
    await _in_pieces(state.work())
    alias = None if wanted.only is None else wanted.only[0]
    newest = list(house.log.ring)  # nothing may be recorded while it is read, so it is read at once
    buffer = Buffer(newest, generation.config.routes, limit=wanted.limit, only=alias)
    await _in_pieces(buffer.work())
    whole = Scrape(house.meters, state, buffer.rows, _process(house), wanted.only)
    parts: list[bytes] = []
    for part in render(make_registry(whole), kind):
        parts.append(part)
        await trio.lowlevel.checkpoint()
    return b"".join(parts)


async def _in_pieces(work: Iterator[None]) -> None:
    for _ in work:
        await trio.lowlevel.checkpoint()


def _state(
    generation: Generation,
    wanted: MetricsQuery,
    door: AdmissionSnapshot,
    snapshots: dict[TierId, TierSnapshot],
    operations: Sequence[tuple[str, str, int]],
) -> StateRows:
    return StateRows(
        generation.config,
        generation.verdict_of,
        generation.signal_of,
        snapshots,
        door,
        now=trio.current_time(),
        only=None if wanted.only is None else wanted.only[0],
        operations=operations,
    )


def _process(house: House) -> ProcessNumbers:
    spans = house.log.spans
    return ProcessNumbers(
        started_unix=house.started_at,
        buffer_capacity=house.log.ring.capacity,
        log_failures=house.log.write_failures,
        spans_exported=None if spans is None else spans.exported,
        spans_dropped={} if spans is None else spans.dropped,
    )
