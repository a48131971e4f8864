"""The same load on several URLs that speak Chat Completions, side by side.

Whole replies, then streams: latency, failures, and the CPU of the process behind each URL where it
runs on this host. The URLs take turns over several rounds, and what is shown is the median; the
first URL is the base of all ratios.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from urllib.parse import urlsplit

import trio

from benchmarks.load import Load, Outcome, run_load
from benchmarks.percentiles import percentile
from benchmarks.plot import Chart
from benchmarks.processes import family_cpu_seconds
from benchmarks.report import add_outputs, print_table, write_outputs

__all__ = ["Measure", "Peer", "base_url", "main", "measure_of", "peers_of", "rows_of", "summary"]

_KINDS = ("unary", "streams")
_ELSEWHERE = "-"
_HEADER = ["", "req/s", "first p50 ms", "first p99", "p50 ms", "p95", "p99", "ratio of p50"]
_HEADER += ["CPU us/req", "us/event", "ratio of CPU", "failed"]
_WARM_UP = 16


@dataclass(frozen=True)
class Peer:
    """Who is asked; `pid` is whose CPU counts, with its children's, where that can be seen."""

    url: str
    pid: int | None


@dataclass(frozen=True)
class Measure:
    """What came of one load on one peer. Times are milliseconds; None is what cannot be seen."""

    url: str
    kind: str
    requests_per_second: float
    first_p50_ms: float
    first_p99_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    cpu_us: float | None
    event_us: float | None
    failures: int


def base_url(url: str) -> str:
    """Where `/v1/chat/completions` is to be added: a URL that ends in `/v1` is meant without it."""
    return url.rstrip("/").removesuffix("/v1")


def peers_of(urls: Sequence[str], pids: Sequence[str]) -> list[Peer]:
    """Each URL with the pid given at the same place, if any; `-` stands for none.

    Raises ValueError if a pid is no number or has no URL, and if a URL is not of a web server.
    """
    where = [urlsplit(url) for url in urls]
    if not all(one.scheme in {"http", "https"} and one.hostname for one in where):
        raise ValueError("a --url is http:// or https:// and names a host")
    if not all(pid == _ELSEWHERE or pid.isdecimal() for pid in pids):
        raise ValueError("a --pid is a number, or - for none")
    if len(pids) > len(urls):
        raise ValueError("there are more --pid than --url")
    given = [*pids, *[_ELSEWHERE] * (len(urls) - len(pids))]
    return [
        Peer(base_url(url), None if pid == _ELSEWHERE else int(pid))
        for url, pid in zip(urls, given, strict=True)
    ]


def measure_of(peer: Peer, load: Load, outcome: Outcome, spent_s: float | None) -> Measure:
    """The figures of one load; `spent_s` is the CPU that the peer spent on it."""

    def per(count: int) -> float | None:
        return None if spent_s is None or not count else spent_s / count * 1e6

    return Measure(
        url=peer.url,
        kind="streams" if load.is_stream else "unary",
        requests_per_second=outcome.requests_per_second,
        first_p50_ms=percentile(outcome.firsts, 0.5) * 1e3,
        first_p99_ms=percentile(outcome.firsts, 0.99) * 1e3,
        p50_ms=outcome.percentile(0.5) * 1e3,
        p95_ms=outcome.percentile(0.95) * 1e3,
        p99_ms=outcome.percentile(0.99) * 1e3,
        cpu_us=per(load.requests),
        event_us=per(outcome.tokens),
        failures=outcome.failures,
    )


def summary(measures: Sequence[Measure]) -> Measure:
    """The median of each figure of several rounds; failures are added up."""

    def median(figure: Callable[[Measure], float | None]) -> float | None:
        seen = [one for one in map(figure, measures) if one is not None]
        return statistics.median(seen) if seen else None

    def known(figure: Callable[[Measure], float]) -> float:
        return statistics.median(map(figure, measures))

    return Measure(
        url=measures[0].url,
        kind=measures[0].kind,
        requests_per_second=known(lambda one: one.requests_per_second),
        first_p50_ms=known(lambda one: one.first_p50_ms),
        first_p99_ms=known(lambda one: one.first_p99_ms),
        p50_ms=known(lambda one: one.p50_ms),
        p95_ms=known(lambda one: one.p95_ms),
        p99_ms=known(lambda one: one.p99_ms),
        cpu_us=median(lambda one: one.cpu_us),
        event_us=median(lambda one: one.event_us),
        failures=sum(one.failures for one in measures),
    )


def rows_of(rows: Sequence[Measure]) -> list[list[str]]:
    """The table's rows; the first is what the others are compared to."""
    base = rows[0]
    return [
        [
            row.url,
            f"{row.requests_per_second:.1f}",
            f"{row.first_p50_ms:.2f}",
            f"{row.first_p99_ms:.2f}",
            f"{row.p50_ms:.2f}",
            f"{row.p95_ms:.2f}",
            f"{row.p99_ms:.2f}",
            _ratio(row.p50_ms, base.p50_ms),
            _cell(row.cpu_us, ".0f"),
            _cell(row.event_us, ".1f"),
            _ratio(row.cpu_us, base.cpu_us),
            str(row.failures),
        ]
        for row in rows
    ]


def _cell(figure: float | None, form: str) -> str:
    return "" if figure is None else f"{figure:{form}}"


def _ratio(figure: float | None, base: float | None) -> str:
    return "" if figure is None or not base else f"{figure / base:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both loads on every URL, print the tables, write figures; 1 if any request failed."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        peers = peers_of(options.url, options.pid)
        measures = [one for load in _loads(options) for one in _measured(options, peers, load)]
    except (ValueError, ProcessLookupError) as fault:
        parser.error(str(fault))
    for kind in _KINDS:
        print(f"\n{kind}")
        print_table(_HEADER, rows_of([one for one in measures if one.kind == kind]))
    names = [peer.url for peer in peers]
    charts = [
        Chart(
            f"ms, {kind}",
            names,
            {
                "p50": [one.p50_ms for one in measures if one.kind == kind],
                "p99": [one.p99_ms for one in measures if one.kind == kind],
            },
        )
        for kind in _KINDS
    ]
    figures = {"model": options.model, "measures": [asdict(one) for one in measures]}
    write_outputs(options, f"Latency with {options.callers} callers", figures, charts)
    return 1 if any(one.failures for one in measures) else 0


def _loads(options: argparse.Namespace) -> list[Load]:
    """Both loads, still without a URL."""
    key = None if options.key_env is None else os.environ.get(options.key_env)
    if options.key_env is not None and not key:
        raise ValueError("the variable that --key-env names is not set")
    more = {"ignore_eos": True} if options.ignore_eos else {}
    return [
        Load(
            url="",
            model=options.model,
            callers=options.callers,
            requests=count,
            tokens=options.tokens,
            key=key,
            is_stream=is_stream,
            timeout_s=options.timeout,
            more=more,
        )
        for is_stream, count in ((False, options.requests), (True, options.streams))
    ]


def _measured(options: argparse.Namespace, peers: Sequence[Peer], load: Load) -> list[Measure]:
    """One figure per peer, from rounds in which they take turns."""
    for peer in peers:
        _measure(peer, load, min(_WARM_UP, load.requests))
    rounds = [
        [_measure(peer, load, load.requests) for peer in peers] for _ in range(options.rounds)
    ]
    return [summary(list(measures)) for measures in zip(*rounds, strict=True)]


def _measure(peer: Peer, load: Load, requests: int) -> Measure:
    callers = min(load.callers, requests)
    asked = replace(load, url=peer.url, requests=requests, callers=callers)
    before = None if peer.pid is None else family_cpu_seconds(peer.pid)
    outcome = trio.run(partial(run_load, asked))
    spent = None if peer.pid is None or before is None else family_cpu_seconds(peer.pid) - before
    return measure_of(peer, asked, outcome, spent)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    add = parser.add_argument
    add(
        "--url",
        action="append",
        required=True,
        help="whom to ask; the first is the base of the ratios",
    )
    add("--model", required=True, help="what all of them call the model")
    add("--key-env", metavar="NAME", help="the variable with the key that all of them take")
    add(
        "--pid",
        action="append",
        default=[],
        help="the process behind each URL, in the same order; - for one that is elsewhere",
    )
    add("--requests", type=int, default=2000, help="whole replies in each round")
    add("--streams", type=int, default=200, help="streams in each round")
    add("--callers", type=int, default=32, help="who ask at the same time")
    add("--tokens", type=int, default=64, help="the most tokens of each reply")
    add("--ignore-eos", action="store_true", help="ask for replies that are as long as allowed")
    add("--timeout", type=float, default=120.0, help="seconds after which a request has failed")
    add("--rounds", type=int, default=3, help="how often each load is measured")
    add_outputs(parser, "compare")
    return parser


if __name__ == "__main__":
    sys.exit(main())
