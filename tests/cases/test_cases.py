"""The fault cases, played against the installed `anvil-serving` by the runner beside this file."""

import ast
import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.cases.expected import HERE, ROOT, Expectation, read_expectations

RUNNER = HERE / "runner"
PROGRAM = Path(sys.executable).with_name("anvil-serving")
EXPECTED = read_expectations()
MANUAL = {one.case_id: one.detail for one in EXPECTED if one.kind == "unit"}
GROUPS = sorted({one.group for one in EXPECTED if one.kind != "unit"})
LIMIT_S = 170


def run_runner(program: str, *arguments: str) -> str:
    """What one run printed; a run that takes too long is asked to stop its gateways first."""
    command = [sys.executable, str(RUNNER / program), *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        try:
            said, _ = running.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGTERM)
            said, _ = running.communicate(timeout=10)
            said += f"\nstopped after {LIMIT_S} s"
    return said


def as_expected(one: Expectation, seen: Mapping[str, str]) -> bool:
    """Whether a case ended as its line says; a skip must give the reason that the line names."""
    if one.kind == "skip":
        return seen["status"] == "SKIP" and seen["detail"] == one.detail
    return seen["status"] == "PASS"


def functions_of(path: Path) -> Sequence[str]:
    """The names of all functions in one Python file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in ast.walk(tree) if isinstance(node, kinds)]


@pytest.mark.wire
@pytest.mark.timeout(180)
@pytest.mark.parametrize("group", GROUPS)
def test_cases_end_as_expected(group: str, tmp_path: Path) -> None:
    """Each fault case of a class passes, or is skipped for the reason that expected.txt names."""
    assert PROGRAM.exists(), "the package is not installed beside this Python"
    wanted = {one.case_id: one for one in EXPECTED if one.group == group and one.kind != "unit"}
    out = tmp_path / "results.json"
    said = run_runner(
        "run.py",
        *("--gateway", "anvil_trio", "--bin", str(PROGRAM), "--only", ",".join(wanted)),
        *("--out", str(out), "--keep", str(tmp_path / "gateways")),
    )
    assert out.exists(), said
    seen = json.loads(out.read_text(encoding="utf-8"))["cases"]
    assert seen.keys() == wanted.keys()
    wrong = {name: seen[name] for name in wanted if not as_expected(wanted[name], seen[name])}
    assert not wrong, said


def test_each_check_of_the_runner_can_fail() -> None:
    """Every check that a case may ask for holds on a right reply and fails on a wrong one."""
    assert ", 0 wrong" in run_runner("selftest.py", "--quick")


def test_every_expected_case_exists_once() -> None:
    """expected.txt names only cases that are here, each of them once."""
    names = [one.case_id for one in EXPECTED]
    assert len(names) == len(set(names))
    assert set(names) <= {path.stem for path in (RUNNER / "cases").glob("*.json")}


def test_no_case_is_left_out() -> None:
    """Every case that is here is run or proven."""
    cases = {path.stem for path in (RUNNER / "cases").glob("*.json")}
    assert cases == {one.case_id for one in EXPECTED}


@pytest.mark.parametrize("case", MANUAL)
def test_a_manual_case_is_proven_by_a_unit_test(case: str) -> None:
    """A case that needs a hook inside the router is proven by a test that exists."""
    path, _, name = MANUAL[case].partition("::")
    assert name in functions_of(ROOT / path)
