"""The benchmarks run to their end, in small, and leave figures and plots of the right shape."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.actor import CEILING, CHECKPOINT, FREE, STATE
from benchmarks.budget_rules import Budget, parse_budgets, render_budgets
from benchmarks.budgets import FILE
from benchmarks.chat_wire import render_request
from benchmarks.flow import Flow
from benchmarks.processes import Child, cpu_seconds, family, family_cpu_seconds, rss_kib
from benchmarks.relay import KINDS
from benchmarks.relay_ends import MODEL
from benchmarks.routers import KEY, router_toml, running_router
from benchmarks.stage_rules import Stage
from benchmarks.streams_held import hold
from benchmarks.streams_long import relay_long
from tests.house.tree import ROOT

pytestmark = pytest.mark.wire


def run(tmp_path: Path, *arguments: str, status: int = 0) -> tuple[dict[str, Any], str]:
    """What `python -m benchmarks ARGUMENTS` wrote and printed; it drew a picture, too."""
    figures, plot = tmp_path / "f.json", tmp_path / "p.svg"
    files = ["--json", str(figures), "--svg", str(plot)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments, *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", "THE_KEY": KEY},
    )
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    assert ET.fromstring(plot.read_text(encoding="utf-8")).tag.endswith("svg")
    return json.loads(figures.read_text(encoding="utf-8")), done.stdout


@pytest.fixture
def ends() -> Iterator[tuple[Child, Child]]:
    """An engine, and a router over it that calls its model the same."""
    with ExitStack() as stack:
        engine = stack.enter_context(Child(["engine"], module="benchmarks.relay_ends"))
        text = router_toml({MODEL: [engine.url]}, MODEL)
        yield engine, stack.enter_context(running_router(text))


def test_stages(tmp_path: Path):
    """Of three loads every sample is some stage's, and each load's CPU is told."""
    asked = ["--requests", "400", "--streams", "8", "--callers", "8"]
    figures, told = run(tmp_path, "stages", *asked)
    assert set(figures["cpu_us"]) == set(figures["samples"]) == set(KINDS)
    assert all(us > 0 for us in figures["cpu_us"].values())
    stages = {stage.value for stage in Stage}
    assert all(set(samples) <= stages for samples in figures["samples"].values())
    assert sum(figures["samples"]["unary"].values()) > 5  # of some 100 ms of CPU
    assert all(stage in told for stage in stages)


def test_actor(tmp_path: Path):
    """1, 64 and 1000 callers, free and at a ceiling, as multiples of the run's own checkpoint."""
    figures, told = run(tmp_path, "actor", "--rounds", "1000", "--repeats", "1")
    callers = ("1 caller", "64 callers", "1000 callers")
    names = [CHECKPOINT, STATE, *(f"{label}, {n}" for label in (FREE, CEILING) for n in callers)]
    assert list(figures["ratios"]) == list(figures["cpu_us"]) == names
    assert figures["ratios"][CHECKPOINT] == 1
    assert all(ratio > 0 for ratio in figures["ratios"].values())
    assert all(name in told for name in names)


def test_held_streams(tmp_path: Path):
    """Directly and routed: every event of every stream, lags, memory, and no failure."""
    small = ["--streams", "3", "6", "--events", "6", "--gap", "0.3", "--open-per-second", "200"]
    figures, told = run(tmp_path, "streams", *small)
    assert [one["name"] for one in figures["runs"]] == ["directly", "routed"] * 2
    assert [one["streams"] for one in figures["runs"]] == [3, 3, 6, 6]
    assert figures["left_out"] == []
    for one in figures["runs"]:
        assert one["failures"] == 0
        assert one["events"] == one["expected_events"] == 6 * one["streams"]
        assert one["most_open"] == one["streams"]
        assert 0 < one["lag_p50_ms"] <= one["lag_p99_ms"] < 5_000
        assert one["cpu_us_an_event"] > 0
    assert "36 of 36" in told


def test_a_long_stream(tmp_path: Path):
    """Ten tenths with a cost and a memory each, all events, and flat memory."""
    # So few events, on a machine that does other things too, do not tell what an event costs.
    words = ("--long", "--events", "20000", "--most-times", "1000")
    figures, told = run(tmp_path, "streams", *words)
    assert figures["events"] == 20_000
    assert figures["failures"] == 0
    assert len(figures["cpu_us"]) == len(figures["rss_kib"]) == 10
    assert all(cost > 0 for cost in figures["cpu_us"])
    assert "events: 20000 of 20000" in told


def test_memory_that_is_not_flat_fails(tmp_path: Path):
    """The run says what grew and ends with 1: here because nothing less than a loss is allowed."""
    _, told = run(
        tmp_path, "streams", "--long", "--events", "200", "--growth-kib=-100000", status=1
    )
    assert "events: 200 of 200" in told
    assert "(at most -100000)" in told


async def test_streams_that_are_refused_or_go_nowhere_have_failed(ends: tuple[Child, Child]):
    """Held and long: a 404, and a port where nobody listens, end without an event."""
    _, router = ends
    flow = Flow(5, 0.01, are_timed=True)
    words = [{"role": "user", "content": flow.words}]
    asked = {"model": "no-such-model", "stream": True, "messages": words}
    for url in (router.url, "http://127.0.0.1:1"):
        request = render_request(url, "/v1/chat/completions", KEY, asked)
        held = await hold(url, router.pid, request, flow, 3, 100.0)
        assert (held.failures, held.events, held.is_whole) == (3, 0, False)
        assert held.faults == {"status 404" if url == router.url else "no connection": 3}
        long = await relay_long(url, router.pid, request, 100, 2)
        assert (long.failures, long.events) == (2, 0)


def test_peers_are_compared(tmp_path: Path, ends: tuple[Child, Child]):
    """Two URLs, two loads each, the CPU of the one whose process is told, and no failure."""
    engine, router = ends
    who = ["--url", engine.url, "--url", f"{router.url}/v1", "--pid", "-", "--pid", str(router.pid)]
    load = ["--model", MODEL, "--key-env", "THE_KEY", "--requests", "8", "--streams", "4"]
    figures, told = run(tmp_path, "compare", *who, *load, "--callers", "2", "--rounds", "1")
    measures = figures["measures"]
    urls = [engine.url, router.url]
    assert [(one["kind"], one["url"]) for one in measures] == [
        (kind, url) for kind in ("unary", "streams") for url in urls
    ]
    for one in measures:
        assert one["failures"] == 0
        assert 0 < one["first_p50_ms"] <= one["p50_ms"] <= one["p99_ms"]
        assert (one["cpu_us"] or 0) > 0 if one["url"] == router.url else one["cpu_us"] is None
    assert measures[3]["event_us"] > 0
    assert urls[0] in told


def test_a_peer_that_refuses_or_is_not_there_is_a_failure(
    tmp_path: Path, ends: tuple[Child, Child]
):
    """Every request is counted as failed, and the command ends with 1."""
    _, router = ends
    who = ["--url", router.url, "--url", "http://127.0.0.1:1"]
    load = ["--model", MODEL, "--requests", "4", "--streams", "2", "--callers", "2"]
    figures, _ = run(tmp_path, "compare", *who, *load, "--rounds", "1", status=1)
    assert [one["failures"] for one in figures["measures"]] == [4, 4, 2, 2]


def test_a_process_is_seen_with_its_children(ends: tuple[Child, Child]):
    """Its CPU and memory, alone and with what it has started; none for a process that is gone."""
    engine, _ = ends
    assert list(family(engine.pid)) == [engine.pid]
    assert family_cpu_seconds(engine.pid) >= cpu_seconds(engine.pid) > 0
    assert rss_kib(engine.pid) > 1000
    sleeping = ["/bin/sh", "-c", "sleep 60 & echo; wait"]
    with subprocess.Popen(sleeping, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        first, child = family(shell.pid)
        os.kill(child, signal.SIGTERM)
        assert first == shell.pid
    with pytest.raises(ProcessLookupError):
        family_cpu_seconds(shell.pid)


def test_a_group_of_budgets_is_measured(tmp_path: Path):
    """One round: a figure for each budget of the group, kept where the budget is wide enough."""
    names = [name for name in parse_budgets(FILE.read_text("utf-8")) if name[:6] == "transl"]
    wide = Budget(measured=1000.0, budget=1000.0, lowest=1000.0, date=date(2026, 1, 2))
    path = tmp_path / "budgets.toml"
    path.write_text(render_budgets(dict.fromkeys(names, wide)), encoding="utf-8")
    asked = ["--only", "translation", "--rounds", "1", "--budgets", str(path)]
    figures, told = run(tmp_path, "budgets", *asked)
    assert [one["name"] for one in figures["verdicts"]] == names
    assert all(one["measured"] > 0 and one["verdict"] == "kept" for one in figures["verdicts"])
    assert all(name in told for name in names)
