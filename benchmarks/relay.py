"""What the router spends on one request and on one event, for each pair of dialects.

CPU time of the router's process, from /proc, and the ratio to what stock hypercorn spends on the
same reply made in its application: figures of one run, on one machine. Three loads for each pair:
whole replies; streams in bursts, as fast as they go; streams whose events come alone. A stream's
own cost is part of its events'. The loads take turns over several rounds, since machines are noisy;
what is shown is the median. Run `python -m benchmarks relay`.
"""

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial

import trio

from benchmarks.chat_wire import render_request
from benchmarks.flow import Flow
from benchmarks.load import open_connection, read_reply
from benchmarks.plot import Chart
from benchmarks.processes import Child, cpu_seconds
from benchmarks.relay_ends import MODEL
from benchmarks.report import add_outputs, print_table, write_outputs
from benchmarks.routers import KEY, router_toml, running_router

__all__ = [
    "BARE",
    "KINDS",
    "Figure",
    "Plan",
    "Target",
    "main",
    "measure",
    "measure_round",
    "running_targets",
]

BARE = "stock hypercorn, bare"
_PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
KINDS = ("unary", "bursts", "alone")
_BURSTS, _ALONE = Flow(), Flow(gap_s=0.01)
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


@contextmanager
def running_targets() -> Iterator[Sequence[Target]]:
    """The bare reply and the six pairs of dialects, warm, for as long as the block."""
    with ExitStack() as stack:
        engine = stack.enter_context(Child(["engine"], module="benchmarks.relay_ends"))
        bare = stack.enter_context(Child(["bare"], module="benchmarks.relay_ends"))
        tiers = {"openai": [engine.url], "anthropic": [engine.url]}
        text = router_toml(tiers, MODEL, anthropic=["anthropic"])
        router = stack.enter_context(running_router(text))
        targets = [Target(BARE, bare.url, bare.pid, "chat", MODEL)]
        targets += [
            Target(f"{dialect} to {tier}", router.url, router.pid, dialect, tier)
            for tier in tiers
            for dialect in _PATHS
        ]
        measure_round(targets, Plan(64, 8, 8, 1), KINDS[:2])  # connections, caches, readiness
        yield targets


def measure_round(
    targets: Sequence[Target], plan: Plan, kinds: Sequence[str] = KINDS
) -> list[Figure]:
    """Each load once on each target."""
    return [measure(target, kind, plan) for kind in kinds for target in targets]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark, print its table, write its figures."""
    options = _parser().parse_args(arguments)
    plan = Plan(options.requests, options.streams, options.callers, options.rounds)
    with running_targets() as targets:
        figures = [one for _ in range(plan.rounds) for one in measure_round(targets, plan)]
    _report(plan, targets, figures, options)
    return 0


def measure(target: Target, kind: str, plan: Plan) -> Figure:
    """One load of one round, once on one target."""
    count = plan.requests if kind == "unary" else plan.streams
    request = _request(target, kind)
    end = None if kind == "unary" else _ENDS[target.dialect]
    before = cpu_seconds(target.pid)
    trio.run(partial(_run_load, target.url, request, end, count, plan.callers))
    spent = cpu_seconds(target.pid) - before
    units = count if kind == "unary" else count * _BURSTS.events
    return Figure(target.name, kind, spent / units * 1e6)


def _request(target: Target, kind: str) -> bytes:
    flow = _ALONE if kind == "alone" else _BURSTS
    asked: dict[str, object] = {"model": target.model, "stream": kind != "unary"}
    words = [{"role": "user", "content": flow.words}]
    asked["input" if target.dialect == "responses" else "messages"] = words
    if target.dialect == "messages":
        asked["max_tokens"] = 1024
    return render_request(target.url, _PATHS[target.dialect], KEY, asked)


async def _run_load(url: str, request: bytes, end: bytes | None, count: int, callers: int) -> None:
    numbers = iter(range(count))
    async with trio.open_nursery() as nursery:
        for _ in range(min(callers, count)):
            nursery.start_soon(_call, url, request, end, numbers)


async def _call(url: str, request: bytes, end: bytes | None, numbers: Iterator[int]) -> None:
    async with await open_connection(url) as stream:
        for _ in numbers:
            await stream.send_all(request)
            reply, body, _ = await read_reply(stream)
            assert reply.status == 200, body[:300]
            assert end is None or end in body, body[-300:]


def _report(
    plan: Plan, targets: Sequence[Target], figures: Sequence[Figure], options: argparse.Namespace
) -> None:
    medians = {
        (target.name, kind): statistics.median(
            one.cpu_us for one in figures if (one.target, one.kind) == (target.name, kind)
        )
        for target in targets
        for kind in KINDS
    }
    header = ["caller to engine"]
    for unit in ("us/request", "us/event, bursts", "us/event, alone"):
        header += [unit, "ratio"]
    print_table(header, [[target.name, *_cells(target.name, medians)] for target in targets])
    ratios = {f"{name}, {kind}": us / medians[BARE, kind] for (name, kind), us in medians.items()}
    names = [target.name for target in targets]
    series = {kind: [ratios[f"{name}, {kind}"] for name in names] for kind in KINDS}
    write_outputs(
        options,
        "The router's CPU per request and per event",
        {
            "plan": asdict(plan),
            "cpu_us": {f"{name}, {kind}": us for (name, kind), us in medians.items()},
            "ratios": ratios,
            "figures": [asdict(one) for one in figures],
        },
        [Chart("as multiples of a bare reply by stock hypercorn", names, series)],
    )


def _cells(name: str, medians: Mapping[tuple[str, str], float]) -> list[str]:
    cells = []
    for kind in KINDS:
        us = medians[name, kind]
        cells += [f"{us:.1f}", f"{us / medians[BARE, kind]:.2f}"]
    return cells


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks relay", description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="whole replies in each load")
    parser.add_argument("--streams", type=int, default=200, help="streams in each load")
    parser.add_argument("--callers", type=int, default=32, help="who ask at the same time")
    parser.add_argument("--rounds", type=int, default=3, help="how often each load is measured")
    add_outputs(parser, "relay")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
