"""Held streams: memory for each, the lag of their events, failures, and the router's CPU.

For each number of streams an engine and a router are started, the streams are opened one after the
other, directly and then through the router, and each is read to its end. The lag is from just
before the engine writes an event to when the client has read it; what the router adds is the
difference to the row above. `--long` relays one stream of a million events instead, without a
pause, and shows what the first and the last tenth cost.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial

import trio

from benchmarks.chat_wire import render_request
from benchmarks.descriptors import allowed, needed
from benchmarks.flow import Flow
from benchmarks.plot import Chart
from benchmarks.processes import Child, cpu_seconds
from benchmarks.relay_ends import MODEL
from benchmarks.report import add_outputs, print_table, write_outputs
from benchmarks.routers import KEY, router_toml, running_router
from benchmarks.streams_held import Held, hold
from benchmarks.streams_long import TENTHS, Long, relay_long

__all__ = ["main", "rows_of", "too_many"]

_DIRECT, _ROUTED = "directly", "routed"
_WARM, _WARM_FLOW = 32, Flow(8, 0.01, are_timed=True)
_LONG_WARM_FLOW = Flow(10_000, are_timed=True)
_HEADER = ["streams", "KiB each", "CPU us/event", "lag p50 ms", "p99", "with opening: p50", "p99"]
_HEADER += ["events", "failed"]
_SERVER = {"max_connections": 65_536, "max_concurrency": 65_536, "total_timeout_s": 36_000}
_ROUTER = {"availability_probe_timeout": 60}
"""An engine that is late on a full machine is not taken out: what is measured is the router."""

_HELD = {"streams": [1000, 5000], "events": 40, "gap": 0.5}
_LONG = {"streams": [1], "events": 1_000_000, "gap": 0.0}
"""What is asked for, where nothing is said."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the table, write figures and plot; 1 if anything failed or could not be held."""
    options = _parser().parse_args(arguments)
    usual = _LONG if options.long else _HELD
    for name, value in usual.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return _long(options) if options.long else _held(options)


def too_many(count: int, limit: int) -> str | None:
    """What to say if so many streams need more descriptors than `limit`; None if they do not."""
    if limit >= needed(count):
        return None
    return (
        f"{count} streams are left out: the router would need {needed(count)} descriptors, and this"
        f" host allows {limit} (ulimit -Hn, RLIMIT_NOFILE)"
    )


def rows_of(name: str, held: Held) -> list[str]:
    """One row of the table; the router's own figures only where there is a router."""
    is_routed = name == _ROUTED
    return [
        f"{held.streams} {name}",
        f"{held.kib_a_stream:.1f}" if is_routed else "",
        _cell(held.cpu_us_an_event, ".0f") if is_routed else "",
        _cell(held.lag_p50_ms, ".2f"),
        _cell(held.lag_p99_ms, ".2f"),
        f"{held.any_lag_p50_ms:.2f}",
        f"{held.any_lag_p99_ms:.2f}",
        f"{held.events} of {held.expected_events}",
        str(held.failures),
    ]


def _cell(figure: float | None, form: str) -> str:
    return "" if figure is None else f"{figure:{form}}"


@contextmanager
def _ends() -> Iterator[tuple[Child, Child]]:
    with ExitStack() as stack:
        engine = stack.enter_context(Child(["engine"], module="benchmarks.relay_ends"))
        text = router_toml({"held": [engine.url]}, MODEL, server=_SERVER, router=_ROUTER)
        yield engine, stack.enter_context(running_router(text))


def _request(url: str, model: str, flow: Flow) -> bytes:
    words = [{"role": "user", "content": flow.words}]
    asked = {"model": model, "stream": True, "messages": words}
    return render_request(url, "/v1/chat/completions", KEY, asked)


def _held(options: argparse.Namespace) -> int:
    flow = Flow(options.events, options.gap, are_timed=True)
    limit = allowed(needed(max(options.streams)))
    found: list[tuple[str, Held]] = []
    left_out = []
    for count in options.streams:
        problem = too_many(count, limit)
        if problem is not None:
            left_out.append(problem)
            continue
        found += _hold_both(count, flow, options.open_per_second)
    print_table(_HEADER, [rows_of(name, held) for name, held in found])
    for problem in left_out:
        print(problem)
    for name, held in found:
        for fault, times in held.faults.items():
            print(f"{held.streams} {name}: {fault}: {times}")
        if held.most_open < held.streams:
            print(
                f"{held.streams} {name}: no more than {held.most_open} were open at once;"
                " ask for more --events or a longer --gap"
            )
    _write_held(options, flow, found, left_out)
    return 1 if left_out or not all(held.is_whole for _, held in found) else 0


def _hold_both(count: int, flow: Flow, per_second: float) -> Iterator[tuple[str, Held]]:
    with _ends() as (engine, router):
        for name, child, model in ((_DIRECT, engine, MODEL), (_ROUTED, router, "held")):
            _hold_once(child, model, _WARM_FLOW, _WARM, per_second)
            yield name, _hold_once(child, model, flow, count, per_second)
        print(f"{count} streams: the router's CPU in all: {cpu_seconds(router.pid):.1f} s")


def _hold_once(child: Child, model: str, flow: Flow, count: int, per_second: float) -> Held:
    request = _request(child.url, model, flow)
    return trio.run(partial(hold, child.url, child.pid, request, flow, count, per_second))


def _write_held(
    options: argparse.Namespace,
    flow: Flow,
    found: Sequence[tuple[str, Held]],
    left_out: Sequence[str],
) -> None:
    names = [f"{held.streams} {name}" for name, held in found]
    routed = [held for name, held in found if name == _ROUTED]
    write_outputs(
        options,
        "Held streams",
        {
            "flow": asdict(flow),
            "open_per_second": options.open_per_second,
            "runs": [
                {"name": name, **asdict(held), "failures": held.failures} for name, held in found
            ],
            "left_out": left_out,
        },
        [
            Chart(
                "lag of an event, ms",
                names,
                {
                    "p50": [held.lag_p50_ms for _, held in found],
                    "p99": [held.lag_p99_ms for _, held in found],
                },
            ),
            Chart(
                "KiB of the router's memory for each stream",
                [str(held.streams) for held in routed],
                {"growth": [held.kib_a_stream for held in routed]},
            ),
        ],
    )


def _long(options: argparse.Namespace) -> int:
    events, streams = options.events, options.streams[0]
    flow = Flow(events, options.gap, are_timed=True)
    with _ends() as (_, router):
        _relay_once(router, _LONG_WARM_FLOW, streams)
        long = _relay_once(router, flow, streams)
    names = [f"tenth {number}" for number in range(1, len(long.cpu_us) + 1)]
    rows = [
        [name, f"{cpu_us:.2f}", str(rss_kib)]
        for name, cpu_us, rss_kib in zip(names, long.cpu_us, long.rss_kib, strict=True)
    ]
    print_table(["", "CPU us/event", "KiB"], rows)
    print(f"last / first tenth: {long.last_to_first:.2f} (at most {options.most_times:g})")
    print(f"memory since the first tenth: {long.growth_kib:+} KiB (at most {options.growth_kib})")
    print(f"events: {long.events} of {events * streams}   failed streams: {long.failures}")
    write_outputs(
        options,
        f"{events * streams} events",
        {**asdict(long), "last_to_first": long.last_to_first, "growth_kib": long.growth_kib},
        [
            Chart("the router's CPU, us for each event", names, {"CPU": long.cpu_us}),
            Chart("the router's memory, KiB", names, {"memory": long.rss_kib}),
        ],
    )
    return 0 if _is_flat(long, events * streams, options.growth_kib, options.most_times) else 1


def _relay_once(router: Child, flow: Flow, streams: int) -> Long:
    request = _request(router.url, "held", flow)
    return trio.run(relay_long, router.url, router.pid, request, flow.events, streams)


def _is_flat(long: Long, events: int, growth_kib: int, most_times: float) -> bool:
    is_whole = not long.failures and long.events == events and len(long.cpu_us) == TENTHS
    return is_whole and long.last_to_first <= most_times and long.growth_kib <= growth_kib


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks streams", description=__doc__)
    add = parser.add_argument
    add("--streams", type=int, nargs="+", help="held at once (default: 1000 5000)")
    add("--events", type=int, help="of each stream (default: 40; 1000000 with --long)")
    add("--gap", type=float, help="seconds between two events (default: 0.5; 0 with --long)")
    add("--open-per-second", type=float, default=500.0, help="how fast streams are opened")
    add("--long", action="store_true", help="one stream of a million events, without a pause")
    add("--most-times", type=float, default=1.5, help="last tenth of --long, of the first")
    add("--growth-kib", type=int, default=2048, help="memory that --long may take in addition")
    add_outputs(parser, "streams")
    return parser


if __name__ == "__main__":
    sys.exit(main())
