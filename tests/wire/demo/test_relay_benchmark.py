"""The relay benchmark runs to its end and leaves its figures."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.wire


def test_every_pair_of_dialects_is_measured(tmp_path):
    """`benchmarks.relay`: six pairs, three loads each, as ratios to the bare reply of the run."""
    path = tmp_path / "relay.json"
    asked = ["--rounds", "1", "--requests", "8", "--streams", "2", "--callers", "2"]
    command = [sys.executable, "-m", "benchmarks", "relay", *asked, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    ratios = json.loads(path.read_text())["ratios"]
    callers = ("chat", "messages", "responses")
    pairs = [f"{caller} to {tier}" for tier in ("openai", "anthropic") for caller in callers]
    for kind in ("unary", "bursts", "alone"):
        assert ratios[f"stock hypercorn, bare, {kind}"] == 1
        assert all(ratios[f"{pair}, {kind}"] > 0 for pair in pairs)
    assert all(pair in done.stdout for pair in pairs)
