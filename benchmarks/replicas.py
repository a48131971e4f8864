"""What a second replica is worth: throughput of one engine, directly and routed, and of two.

The engines are the demo's: so many slots, so many tokens per second in each. Their slots, and not
the machine, bound the throughput, so the ratio of two to one says what the router loses. Each
engine gets the same number of requests in every phase, and there are twice as many callers as
slots, so that no slot is ever without work. The phases take turns over several rounds, because
machines are noisy; what is shown is the median.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial

import trio

from benchmarks.load import Load, run_load
from benchmarks.plot import Chart
from benchmarks.processes import Child, cpu_seconds
from benchmarks.report import add_outputs, print_table, write_outputs
from benchmarks.routers import KEY, router_toml, running_router

__all__ = ["main"]

_MODEL = "demo-model"
_CALLERS_PER_SLOT = 2
_DIRECT, _ONE, _TWO = "one, directly", "one, routed", "two, routed"


@dataclass(frozen=True)
class Plan:
    """How big the engines and the load are."""

    slots: int
    tokens_per_second: float
    tokens: int
    waves: int
    rounds: int

    @property
    def engine_limit(self) -> float:
        """Requests per second that one engine's slots allow, prompts left out."""
        return self.slots * self.tokens_per_second / self.tokens

    def load(self, url: str, model: str, *, engines: int) -> Load:
        """The load for so many engines: `waves` requests for each of their slots."""
        slots = self.slots * engines
        return Load(url, model, slots * _CALLERS_PER_SLOT, slots * self.waves, self.tokens, KEY)


@dataclass(frozen=True)
class Phase:
    """One measured load. `router_cpu_us` is the router's CPU per request; None without a router."""

    name: str
    requests_per_second: float
    p50_s: float
    failures: int
    router_cpu_us: float | None


def main() -> int:
    """Run the benchmark, print its table, write its figures; 1 if any request failed."""
    options = _parser().parse_args()
    plan = Plan(
        options.slots, options.tokens_per_second, options.tokens, options.waves, options.rounds
    )
    with ExitStack() as children:
        engine = ["demo-engine", "--port", "0", "--model", _MODEL, "--slots", str(plan.slots)]
        engine += ["--tokens-per-second", str(plan.tokens_per_second)]
        urls = [children.enter_context(Child(engine)).url for _ in range(2)]
        text = router_toml({"one": urls[:1], "two": urls}, _MODEL)
        router = children.enter_context(running_router(text))
        phases = [phase for _ in range(plan.rounds) for phase in _round(plan, urls[0], router)]
    return _report(plan, phases, options)


def _round(plan: Plan, engine_url: str, router: Child) -> list[Phase]:
    return [
        _measure(_DIRECT, plan.load(engine_url, _MODEL, engines=1), None),
        _measure(_ONE, plan.load(router.url, "one", engines=1), router.pid),
        _measure(_TWO, plan.load(router.url, "two", engines=2), router.pid),
    ]


def _measure(name: str, load: Load, router_pid: int | None) -> Phase:
    before = 0.0 if router_pid is None else cpu_seconds(router_pid)
    outcome = trio.run(partial(run_load, load))
    spent = None if router_pid is None else cpu_seconds(router_pid) - before
    return Phase(
        name=name,
        requests_per_second=outcome.requests_per_second,
        p50_s=outcome.percentile(0.5),
        failures=outcome.failures,
        router_cpu_us=None if spent is None else spent / load.requests * 1e6,
    )


def _report(plan: Plan, phases: Sequence[Phase], options: argparse.Namespace) -> int:
    throughput = {
        name: _median(phases, name, "requests_per_second") for name in (_DIRECT, _ONE, _TWO)
    }
    ratio = throughput[_TWO] / throughput[_ONE] if throughput[_ONE] else 0.0
    failures = sum(phase.failures for phase in phases)
    rows = []
    for name, engines in ((_DIRECT, 1), (_ONE, 1), (_TWO, 2)):
        cpu = "" if name == _DIRECT else f"{_median(phases, name, 'router_cpu_us'):.0f}"
        rate = throughput[name]
        rows.append([
            name,
            f"{rate:.2f}",
            f"{rate * plan.tokens:.0f}",
            f"{rate / plan.engine_limit / engines:.1%}",
            f"{_median(phases, name, 'p50_s') * 1000:.0f}",
            cpu,
        ])
    header = ["engines", "req/s", "tokens/s", "of the slots' limit", "p50 ms", "router CPU us/req"]
    print_table(header, rows)
    print(f"two / one, routed: {ratio:.3f}   failed requests: {failures}")
    write_outputs(
        options,
        "Throughput of one replica and of two",
        {"plan": asdict(plan), "ratio": ratio, "phases": [asdict(p) for p in phases]},
        [Chart("requests per second", list(throughput), {"median": list(throughput.values())})],
    )
    return 1 if failures else 0


def _median(phases: Sequence[Phase], name: str, figure: str) -> float:
    figures: list[float] = [getattr(phase, figure) for phase in phases if phase.name == name]
    return statistics.median(figures)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks replicas", description=__doc__)
    parser.add_argument("--slots", type=int, default=8, help="slots of each engine")
    parser.add_argument("--tokens-per-second", type=float, default=40.0, help="of each slot")
    parser.add_argument("--tokens", type=int, default=16, help="tokens of each reply")
    parser.add_argument("--waves", type=int, default=10, help="requests for each slot and phase")
    parser.add_argument("--rounds", type=int, default=3, help="how often each phase is measured")
    add_outputs(parser, "replicas")
    return parser


if __name__ == "__main__":
    sys.exit(main())
