"""Where the router's time goes: the share of each stage in a request and in an event.

A router that looks at itself every few milliseconds of its own CPU serves three loads: whole
replies, streams in bursts, streams whose events come alone (Chat to an OpenAI engine). A sample
counts for the stage whose call was under way. Run `python -m benchmarks stages`.
"""

import argparse
import json
import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.plot import Chart
from benchmarks.processes import Child
from benchmarks.relay import KINDS, Plan, Target, measure
from benchmarks.relay_ends import MODEL
from benchmarks.report import add_outputs, print_table, write_outputs
from benchmarks.routers import router_toml, running_router
from benchmarks.sampled_router import SAMPLES_FILE
from benchmarks.stage_rules import Stage

__all__ = ["Split", "main"]

_WAIT_S = 10.0


@dataclass(frozen=True)
class Split:
    """The CPU of one load, in µs a request or an event, and the samples of each stage."""

    cpu_us: float
    samples: Mapping[str, int]

    def share(self, stage: Stage) -> float:
        """How much of it was the stage's, 0 to 1."""
        return self.samples.get(stage, 0) / max(sum(self.samples.values()), 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark, print its table, write its figures."""
    options = _parser().parse_args(arguments)
    plan = Plan(options.requests, options.streams, options.callers, 1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engine = stack.enter_context(Child(["engine"], module="benchmarks.relay_ends"))
        text, path = router_toml({"openai": [engine.url]}, MODEL), folder / "samples"
        env = {SAMPLES_FILE: str(path)}
        sampled = running_router(text, env, module="benchmarks.sampled_router")
        router = stack.enter_context(sampled)
        target = Target("chat to openai", router.url, router.pid, "chat", "openai")
        for kind in KINDS[:2]:
            measure(target, kind, Plan(64, 8, 8, 1))  # connections, caches, readiness
        splits = {kind: _split(target, kind, plan, path) for kind in KINDS}
    _report(splits, options)
    return 0


def _split(target: Target, kind: str, plan: Plan, path: Path) -> Split:
    os.kill(target.pid, signal.SIGUSR1)
    figure = measure(target, kind, plan)
    os.kill(target.pid, signal.SIGUSR2)
    return Split(figure.cpu_us, _samples(path))


def _samples(path: Path) -> dict[str, int]:
    last = time.monotonic() + _WAIT_S
    while not path.exists():
        if time.monotonic() > last:
            raise TimeoutError("the router did not tell its samples")
        time.sleep(0.01)
    samples: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return samples


def _report(splits: Mapping[str, Split], options: argparse.Namespace) -> None:
    header = ["stage", *(text for kind in KINDS for text in (f"{kind}, us", "share"))]
    rows = [[stage.value, *_cells(splits, stage)] for stage in Stage]
    rows.append(["all", *(text for kind in KINDS for text in (f"{splits[kind].cpu_us:.1f}", ""))])
    print_table(header, rows)
    names = [stage.value for stage in Stage]
    shares = {kind: [splits[kind].share(stage) for stage in Stage] for kind in KINDS}
    write_outputs(
        options,
        "The router's CPU by stage",
        {
            "cpu_us": {kind: split.cpu_us for kind, split in splits.items()},
            "samples": {kind: split.samples for kind, split in splits.items()},
        },
        [Chart("share of each load's CPU", names, shares)],
    )


def _cells(splits: Mapping[str, Split], stage: Stage) -> list[str]:
    cells = []
    for kind in KINDS:
        share = splits[kind].share(stage)
        cells += [f"{share * splits[kind].cpu_us:.1f}", f"{share:.0%}"]
    return cells


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks stages", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="whole replies")
    parser.add_argument("--streams", type=int, default=1_000, help="streams of each kind")
    parser.add_argument("--callers", type=int, default=64, help="who ask at the same time")
    add_outputs(parser, "stages")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
