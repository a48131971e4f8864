"""`python -m benchmarks replicas`, as small as it can be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wire

ROOT = Path(__file__).parents[3]


def test_the_benchmark_measures_and_writes_what_it_prints(tmp_path):
    """Three phases on real processes, no failed request, and a second replica that is worth one."""
    path = tmp_path / "figures" / "replicas.json"
    small = ["--slots", "2", "--tokens", "8", "--waves", "4", "--rounds", "1", "--json", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "replicas", *small],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    figures = json.loads(path.read_text())
    assert f"two / one, routed: {figures['ratio']:.3f}" in done.stdout
    assert figures["ratio"] > 1.5
    assert [phase["failures"] for phase in figures["phases"]] == [0, 0, 0]
    assert figures["phases"][2]["router_cpu_us"] > 0
