"""What a strategy is worth on unequal engines: round robin and capacity, with and without ceilings.

Two engines with equal slots, one half as fast, and more callers than slots. First on virtual time,
where the outcome is asserted: capacity has at least 1.4 times the throughput of round robin without
member ceilings, and the same as round robin with them, since then every slot is always taken. Then
once on sockets, printed. With fewer callers than slots the strategies differ in another way, so
that is shown too.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

from benchmarks.plot import Chart
from benchmarks.report import add_outputs, print_table, write_outputs
from benchmarks.strategies_plan import CAPACITY, CEILINGS, PLAIN, STRATEGIES, Plan, Row
from benchmarks.strategies_sockets import measure_all
from benchmarks.strategies_virtual import measure

__all__ = ["main", "on_virtual_time", "verdict"]

LEAST_GAIN = 1.4
MOST_DIFFERENCE = 0.02
_FEWER_CALLERS = 12
_TIMES_FASTER = 8.0
_HEADER = [
    "",
    "req/s",
    "p50 s",
    "p95 s",
    "prompt reused",
    "served fast/slow",
    "router CPU us/req",
    "failed",
]


def on_virtual_time(plan: Plan) -> list[Row]:
    """Every strategy under one load."""
    return [measure(plan, strategy) for strategy in STRATEGIES]


def verdict(rows: Sequence[Row]) -> tuple[float, float, bool]:
    """Capacity by round robin without ceilings, and with them; whether both are as they must be."""
    rates = {row.strategy: row.requests_per_second for row in rows}
    gain = rates[CAPACITY.name] / rates[PLAIN.name]
    parity = rates[CAPACITY.name] / rates[CEILINGS.name]
    return gain, parity, gain >= LEAST_GAIN and abs(parity - 1) <= MOST_DIFFERENCE


def main(arguments: Sequence[str]) -> int:
    """Run, print the tables, write figures and plot; 1 if the outcome is not as it must be."""
    options = _parser().parse_args(arguments)
    plan = Plan(callers=options.callers, slots=options.slots)
    few = replace(plan, callers=_FEWER_CALLERS)
    runs = {
        f"virtual time, {plan.callers} callers": on_virtual_time(plan),
        f"virtual time, {few.callers} callers": on_virtual_time(few),
    }
    gain, parity, is_right = verdict(next(iter(runs.values())))
    if not options.no_sockets:
        fast = plan.faster(_TIMES_FASTER, warm_up_s=2.0, measured_s=options.seconds)
        runs[f"sockets, {_TIMES_FASTER:.0f} times as fast, {plan.callers} callers"] = measure_all(
            fast
        )
    for name, rows in runs.items():
        print(f"\n{name}")
        print_table(_HEADER, [_cells(row) for row in rows])
    print(f"\ncapacity / round robin without ceilings: {gain:.3f} (at least {LEAST_GAIN})")
    print(f"capacity / round robin with ceilings: {parity:.3f} (1 within {MOST_DIFFERENCE:.0%})")
    write_outputs(
        options,
        f"Throughput of {plan.slots} fast and {plan.slots} slow slots",
        {
            "plan": asdict(plan),
            "gain": gain,
            "parity": parity,
            "runs": {name: [asdict(row) for row in rows] for name, rows in runs.items()},
        },
        [
            Chart(
                f"requests per second, {name}",
                [row.strategy for row in rows],
                {"one run": [row.requests_per_second for row in rows]},
            )
            for name, rows in runs.items()
        ],
    )
    failures = sum(row.failures for rows in runs.values() for row in rows)
    return 0 if is_right and not failures else 1


def _cells(row: Row) -> list[str]:
    return [
        row.strategy,
        f"{row.requests_per_second:.2f}",
        f"{row.p50_s:.2f}",
        f"{row.p95_s:.2f}",
        f"{row.reused:.0%}",
        " / ".join(str(count) for count in row.served),
        "" if row.router_cpu_us is None else f"{row.router_cpu_us:.0f}",
        str(row.failures),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks strategies", description=__doc__)
    parser.add_argument("--callers", type=int, default=32)
    parser.add_argument("--slots", type=int, default=8, help="slots of each engine")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run on sockets")
    parser.add_argument("--no-sockets", action="store_true", help="virtual time only")
    add_outputs(parser, "strategies")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
