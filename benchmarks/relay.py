"""What the router spends on one request and on one event, for each pair of dialects.

CPU time of the router's process, from /proc, and the ratio to what stock hypercorn spends on the
same reply made in its application: figures of one run, on one machine. Three loads for each pair:
whole replies; streams in bursts, as fast as they go; streams whose events come alone. A stream's
own cost is part of its events'. The loads take turns over several rounds, since machines are noisy;
what is shown is the median. Run `python -m benchmarks relay`.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import trio

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from benchmarks.processes import Child, cpu_seconds
from benchmarks.relay_ends import ALONE, EVENTS, MODEL
from benchmarks.report import print_table, write_json

__all__ = ["main"]

_KEY = "only-for-this-benchmark"
_BARE = "stock hypercorn, bare"
_PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
_KINDS = ("unary", "bursts", "alone")
_ENDS = {
    "chat": b"data: [DONE]",
    "messages": b"event: message_stop",
    "responses": b"event: response.completed",
}


@dataclass(frozen=True)
class Target:
    """Who is asked, in which dialect, for which model; `pid` is whose CPU is counted."""

    name: str
    url: str
    pid: int
    dialect: str
    model: str


@dataclass(frozen=True)
class Figure:
    """CPU microseconds per request (`unary`) or per event of one target under one load."""

    target: str
    kind: str
    cpu_us: float


@dataclass(frozen=True)
class Plan:
    """How much is asked in each load of each round."""

    requests: int
    streams: int
    callers: int
    rounds: int


def main() -> int:
    """Run the benchmark, print its table, write its figures."""
    options = _parser().parse_args()
    plan = Plan(options.requests, options.streams, options.callers, options.rounds)
    with ExitStack() as children:
        engine = children.enter_context(Child(["engine"], module="benchmarks.relay_ends"))
        bare = children.enter_context(Child(["bare"], module="benchmarks.relay_ends"))
        folder = Path(children.enter_context(tempfile.TemporaryDirectory()))
        config = folder / "router.toml"
        config.write_text(_router_toml(engine.url))
        run = ["router", "run", "--config", str(config), "--port", "0"]
        router = children.enter_context(Child(run, {ROUTER_KEY_ENV: _KEY}))
        targets = [Target(_BARE, bare.url, bare.pid, "chat", MODEL)]
        targets += [
            Target(f"{dialect} to {tier}", router.url, router.pid, dialect, tier)
            for tier in ("openai", "anthropic")
            for dialect in _PATHS
        ]
        for target in targets:  # connections, caches, and the readiness of the tiers
            _measure(target, "unary", Plan(64, 8, 8, 1))
            _measure(target, "bursts", Plan(64, 8, 8, 1))
        figures = [
            _measure(target, kind, plan)
            for _ in range(plan.rounds)
            for kind in _KINDS
            for target in targets
        ]
    _report(plan, targets, figures, options.json)
    return 0


def _router_toml(engine_url: str) -> str:
    tiers = {"openai": [engine_url], "anthropic": [engine_url]}
    text = render_router_toml(tiers, model=MODEL, context_limit=8_192)
    before, _, after = text.rpartition('id = "anthropic"\ndialect = "openai"')
    return f'{before}id = "anthropic"\ndialect = "anthropic"{after}'


def _measure(target: Target, kind: str, plan: Plan) -> Figure:
    count = plan.requests if kind == "unary" else plan.streams
    request = _request(target, kind)
    end = None if kind == "unary" else _ENDS[target.dialect]
    before = cpu_seconds(target.pid)
    trio.run(partial(_run_load, target.url, request, end, count, plan.callers))
    spent = cpu_seconds(target.pid) - before
    units = count if kind == "unary" else count * EVENTS
    return Figure(target.name, kind, spent / units * 1e6)


def _request(target: Target, kind: str) -> bytes:
    words = [{"role": "user", "content": ALONE if kind == "alone" else "at once"}]
    asked: dict[str, object] = {"model": target.model, "stream": kind != "unary"}
    asked["input" if target.dialect == "responses" else "messages"] = words
    if target.dialect == "messages":
        asked["max_tokens"] = 1024
    body = json.dumps(asked).encode()
    head = [
        f"POST {_PATHS[target.dialect]} HTTP/1.1",
        f"host: {urlsplit(target.url).netloc}",
        f"authorization: Bearer {_KEY}",
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


async def _run_load(url: str, request: bytes, end: bytes | None, count: int, callers: int) -> None:
    numbers = iter(range(count))
    async with trio.open_nursery() as nursery:
        for _ in range(min(callers, count)):
            nursery.start_soon(_call, url, request, end, numbers)


async def _call(url: str, request: bytes, end: bytes | None, numbers: Iterator[int]) -> None:
    host, _, port = urlsplit(url).netloc.partition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        for _ in numbers:
            await stream.send_all(request)
            await _read_reply(stream, end)


async def _read_reply(stream: trio.SocketStream, end: bytes | None) -> None:
    """Read one reply to its end; it must be a 200, and a stream must have its own last event."""
    data = b""
    while not _is_whole(data):
        part = await stream.receive_some(65_536)
        assert part, "the connection ended before the reply did"
        data += part
    assert data.startswith(b"HTTP/1.1 200 "), data[:300]
    assert end is None or end in data, data[-300:]


def _is_whole(data: bytes) -> bool:
    head, gap, body = data.partition(b"\r\n\r\n")
    if not gap:
        return False
    length = head.lower().partition(b"content-length: ")[2]
    if length:
        return len(body) >= int(length.partition(b"\r\n")[0])
    return data.endswith(b"\r\n0\r\n\r\n")


def _report(plan: Plan, targets: Sequence[Target], figures: Sequence[Figure], path: Path) -> None:
    medians = {
        (target.name, kind): statistics.median(
            one.cpu_us for one in figures if (one.target, one.kind) == (target.name, kind)
        )
        for target in targets
        for kind in _KINDS
    }
    header = ["caller to engine"]
    for unit in ("us/request", "us/event, bursts", "us/event, alone"):
        header += [unit, "ratio"]
    rows = [[target.name, *_cells(target.name, medians)] for target in targets]
    print_table(header, rows)
    ratios = {f"{name}, {kind}": us / medians[_BARE, kind] for (name, kind), us in medians.items()}
    write_json(
        path,
        {
            "plan": asdict(plan),
            "cpu_us": {f"{name}, {kind}": us for (name, kind), us in medians.items()},
            "ratios": ratios,
            "figures": [asdict(one) for one in figures],
        },
    )
    print(f"figures: {path}")


def _cells(name: str, medians: Mapping[tuple[str, str], float]) -> list[str]:
    cells = []
    for kind in _KINDS:
        us = medians[name, kind]
        cells += [f"{us:.1f}", f"{us / medians[_BARE, kind]:.2f}"]
    return cells


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks relay", description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="whole replies in each load")
    parser.add_argument("--streams", type=int, default=200, help="streams in each load")
    parser.add_argument("--callers", type=int, default=32, help="who ask at the same time")
    parser.add_argument("--rounds", type=int, default=3, help="how often each load is measured")
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks/relay.json"))
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
