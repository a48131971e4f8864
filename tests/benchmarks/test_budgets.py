"""Budgets: the file's rules, what a measurement may change, and that a doubling is found."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from benchmarks import budget_rules, budgets
from benchmarks.budget_figures import GROUPS, Group, measured_of
from benchmarks.budget_rules import (
    Budget,
    Verdict,
    budget_for,
    check_budgets,
    judge,
    parse_budgets,
    render_budgets,
    rewrite,
)
from tests.house.tree import ROOT

DAY, LATER = date(2026, 1, 2), date(2026, 3, 4)
KEPT = parse_budgets(budgets.FILE.read_text(encoding="utf-8"))
ONE = Budget(measured=2.0, budget=3.0, lowest=3.0, date=DAY)
RAISED = Budget(measured=2.0, budget=3.0, lowest=2.5, date=DAY, reason="it does more now")


def group_of(name: str, rounds: Sequence[Mapping[str, float]]) -> Group:
    """A group whose measurements are given, round after round, over all its openings."""
    seen: Iterator[Mapping[str, float]] = iter(rounds)

    @contextmanager
    def opened() -> Iterator[Callable[[], Mapping[str, float]]]:
        yield lambda: next(seen)

    return Group(name, opened)


def always(figures: Mapping[str, float]) -> Group:
    """A group that always measures the same."""
    return group_of("only", [figures] * 10)


def run(tmp_path: Path, group: Group, *arguments: str, text: str | None = None) -> int:
    """One run of the command with that group and that file of budgets; 1 round."""
    path = tmp_path / "budgets.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    files = ["--json", str(tmp_path / "f.json"), "--svg", str(tmp_path / "p.svg")]
    given = ["--rounds", "1", "--budgets", str(path), *files, *arguments]
    return budgets.main(given, [group], lambda: LATER)


def test_the_budgets_of_this_project_are_as_they_must_be():
    """Each at most 1.5 times what was measured, dated, and a raised one with its reason."""
    assert KEPT
    assert check_budgets(KEPT) == []


def test_the_budgets_of_this_project_are_written_as_the_command_writes_them():
    """Nobody has to wonder what a rewrite will change."""
    assert budgets.FILE.read_text(encoding="utf-8") == render_budgets(KEPT)


def test_every_group_has_budgets():
    """No group is measured in vain, and no budget belongs to none."""
    assert {name.partition(":")[0] for name in KEPT} == {group.name for group in GROUPS}


def test_what_was_measured_is_kept_and_its_double_is_not(tmp_path: Path):
    """With the figures of the file the command ends with 0, with twice as much with 1."""
    text = budgets.FILE.read_text(encoding="utf-8")
    figures = {name: one.measured for name, one in KEPT.items()}
    assert run(tmp_path, always(figures), text=text) == 0
    doubled = {name: 2 * figure for name, figure in figures.items()}
    assert run(tmp_path, always(doubled), text=text) == 1


@pytest.mark.parametrize("name", KEPT)
def test_one_figure_that_doubles_is_enough(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Whichever it is; the table names it and no other."""
    figures = {other: one.measured * (1 + (other == name)) for other, one in KEPT.items()}
    text = budgets.FILE.read_text(encoding="utf-8")
    assert run(tmp_path, always(figures), text=text) == 1
    over = [line for line in capsys.readouterr().out.splitlines() if line.endswith("over")]
    assert len(over) == 1
    assert over[0].startswith(name)


def test_a_group_that_is_over_is_measured_once_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The lower of both figures counts, each for itself."""
    text = render_budgets({"a": ONE, "b": ONE})
    noisy = group_of("only", [{"a": 9.0, "b": 2.0}, {"a": 3.0, "b": 9.0}])
    assert run(tmp_path, noisy, text=text) == 0
    assert "measured once more" in capsys.readouterr().out


def test_a_group_that_is_over_twice_fails(tmp_path: Path):
    """There is no third time."""
    twice = group_of("only", [{"a": 9.0}, {"a": 3.001}, {"a": 1.0}])
    assert run(tmp_path, twice, text=render_budgets({"a": ONE})) == 1


def test_a_group_that_is_within_is_measured_once(tmp_path: Path):
    """A second measurement would find nothing."""
    once = group_of("only", [{"a": 3.0}])
    assert run(tmp_path, once, text=render_budgets({"a": ONE})) == 0


def test_a_figure_is_the_median_of_its_rounds():
    """One odd round changes nothing."""
    group = group_of("g", [{"a": 9.0, "b": 1.0}, {"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 2.0}])
    assert measured_of(group, 3) == {"a": 2.0, "b": 2.0}


def test_a_figure_without_a_budget_and_a_budget_without_a_figure_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Both are said; with one group alone the other groups' budgets are nobody's matter."""
    assert run(tmp_path, always({"a": 1.0, "new": 1.0}), text=render_budgets({"a": ONE})) == 1
    assert "no budget" in capsys.readouterr().out
    text = render_budgets({"a": ONE, "gone": ONE})
    assert run(tmp_path, always({"a": 1.0}), text=text) == 1
    assert "not measured" in capsys.readouterr().out
    assert run(tmp_path, always({"a": 1.0}), "--only", "only", text=text) == 0


def test_a_file_that_breaks_its_rules_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Although every figure is within its budget."""
    text = render_budgets({"a": Budget(2.0, 3.1, 3.1, DAY)})
    assert run(tmp_path, always({"a": 1.0}), text=text) == 1
    assert "more than 1.5 times" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The command ends with 2 before it measures."""
    with pytest.raises(SystemExit) as ended:
        run(tmp_path, group_of("only", []), text="[a]\nmeasured = 1\n")
    assert ended.value.code == 2
    assert "a: a budget has" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--reason", "x"], ["--write", "--reason", " "]])
def test_a_reason_is_words_for_a_rewrite(arguments: list[str], tmp_path: Path):
    """Alone or empty it is a mistake."""
    with pytest.raises(SystemExit) as ended:
        run(tmp_path, group_of("only", []), *arguments, text=render_budgets({"a": ONE}))
    assert ended.value.code == 2


def test_a_rewrite_lowers_and_adds_but_does_not_raise(tmp_path: Path):
    """What is exceeded stays as it is and still fails."""
    text = render_budgets({"down": ONE, "up": ONE})
    group = always({"down": 1.0, "up": 4.0, "new": 0.5})
    assert run(tmp_path, group, "--write", text=text) == 1
    now = parse_budgets((tmp_path / "budgets.toml").read_text(encoding="utf-8"))
    assert now["down"] == Budget(1.0, 1.5, 1.5, LATER)
    assert now["up"] == ONE
    assert now["new"] == Budget(0.5, 0.75, 0.75, LATER)


def test_a_rewrite_with_a_reason_raises(tmp_path: Path):
    """What is exceeded gets a new budget with the reason, and its lowest one stays known."""
    group = always({"a": 4.0, "b": 2.9})
    text = render_budgets({"a": ONE, "b": ONE})
    assert run(tmp_path, group, "--write", "--reason", "more work", text=text) == 0
    now = parse_budgets((tmp_path / "budgets.toml").read_text(encoding="utf-8"))
    assert now == {"a": Budget(4.0, 6.0, 3.0, LATER, "more work"), "b": ONE}
    assert check_budgets(now) == []


def test_a_first_rewrite_makes_the_file(tmp_path: Path):
    """Where there was none."""
    assert run(tmp_path, always({"a": 1.0}), "--write") == 0
    now = parse_budgets((tmp_path / "budgets.toml").read_text(encoding="utf-8"))
    assert now == {"a": Budget(1.0, 1.5, 1.5, LATER)}


def test_the_figures_and_the_plot_are_written(tmp_path: Path):
    """With the verdict of each."""
    run(tmp_path, always({"a": 9.0}), text=render_budgets({"a": ONE}))
    assert '"verdict": "over"' in (tmp_path / "f.json").read_text(encoding="utf-8")
    assert "<svg" in (tmp_path / "p.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("measured", [0.001, 0.333, 1.0, 1.059, 2.667, 10.001, 123.456])
def test_a_new_budget_is_the_most_that_is_allowed_and_less_than_the_double(measured: float):
    """1.5 times, rounded down, so that the double is always over it."""
    new = budget_for(measured)
    assert measured * 1.5 - 0.001 < new <= measured * 1.5 + 1e-9
    assert 2 * measured > new
    assert check_budgets({"a": Budget(measured, new, new, DAY)}) == []


@pytest.mark.parametrize(
    ("one", "fault"),
    [
        (ONE, None),
        (RAISED, None),
        (Budget(2.0, 2.0, 2.0, DAY), None),
        (Budget(2.0, 3.001, 3.001, DAY), "more than 1.5 times"),
        (Budget(2.0, 3.0, 3.5, DAY), "lowest is more than the budget"),
        (Budget(2.0, 3.0, 2.5, DAY), "raised without a reason"),
        (Budget(2.0, 3.0, 2.5, DAY, "  "), "raised without a reason"),
    ],
)
def test_a_budget_is_bound_and_raised_with_a_reason_only(one: Budget, fault: str | None):
    """One sentence for what is wrong, none where nothing is."""
    faults = check_budgets({"a": one})
    assert len(faults) == (fault is not None)
    assert all(said.startswith("a: ") and str(fault) in said for said in faults)


def test_a_file_is_read_back_as_it_was_written():
    """Names and reasons may hold anything."""
    both = {'a, "b" \x7f é': RAISED, "c": ONE}
    text = render_budgets(both)
    assert parse_budgets(text) == both
    assert tomllib.loads(text)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize(
    "text",
    [
        "a = 1",
        "[a]\nmeasured = 1.0\nbudget = 1.0\nlowest = 1.0",
        "[a]\nmeasured = 1.0\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02\nmore = 1",
        "[a]\nmeasured = 0.0\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02",
        "[a]\nmeasured = inf\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02",
        "[a]\nmeasured = true\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02",
        '[a]\nmeasured = "1"\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02',
        '[a]\nmeasured = 1.0\nbudget = 1.0\nlowest = 1.0\ndate = "2026-01-02"',
        "[a]\nmeasured = 1.0\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02T00:00:00",
        "[a]\nmeasured = 1.0\nbudget = 1.0\nlowest = 1.0\ndate = 2026-01-02\nreason = 1",
        "nonsense",
    ],
)
def test_a_file_of_another_shape_is_refused(text: str):
    """Every entry is a table with the four values, and maybe a reason, each of its kind."""
    with pytest.raises(ValueError):  # noqa: PT011 - ours, or of tomllib
        parse_budgets(text)


def test_verdicts_name_what_is_kept_over_or_alone():
    """Exactly the budget is kept; figures come first, in their order."""
    verdicts = judge({"b": 3.0, "a": 3.001, "new": 1.0}, {"gone": ONE, "a": ONE, "b": ONE})
    assert [(one.name, one.words) for one in verdicts] == [
        ("b", "kept"),
        ("a", "over"),
        ("new", "no budget"),
        ("gone", "not measured"),
    ]
    assert [one.is_kept for one in verdicts] == [True, False, False, False]
    assert budgets.rows_of([Verdict("a", None, 3.0), Verdict("b", 1.0, None)]) == [
        ["a", "", "3.000", "not measured"],
        ["b", "1.000", "", "no budget"],
    ]


@pytest.mark.parametrize(
    ("old", "measured", "reason", "new"),
    [
        (ONE, 2.0, None, ONE),
        (ONE, 1.91, None, ONE),
        (ONE, 1.8, None, Budget(1.8, 2.7, 2.7, LATER)),
        (ONE, 3.0, "r", ONE),
        (ONE, 3.1, None, ONE),
        (ONE, 3.1, "r", Budget(3.1, 4.65, 3.0, LATER, "r")),
        (RAISED, 1.8, None, Budget(1.8, 2.7, 2.5, LATER, "it does more now")),
        (RAISED, 1.0, None, Budget(1.0, 1.5, 1.5, LATER)),
        (ONE, None, "r", ONE),
        (None, 0.12345, None, Budget(0.123, 0.184, 0.184, LATER)),
    ],
    ids=[
        *("same", "noise", "lower", "at the budget", "over", "over, with a reason"),
        *("lower, still raised", "lower than ever", "not measured", "new"),
    ],
)
def test_what_a_measurement_changes(
    old: Budget | None, measured: float | None, reason: str | None, new: Budget
):
    """Only ever lower, by more than noise, unless there is a reason."""
    before = {} if old is None else {"a": old}
    figures = {} if measured is None else {"a": measured}
    assert rewrite(before, figures, LATER, reason) == {"a": new}


def test_a_rewrite_keeps_the_order_of_the_figures():
    """So that the file reads like the table."""
    assert list(rewrite({"z": ONE, "a": ONE}, {"a": 2.0, "m": 1.0}, LATER, None)) == ["a", "m", "z"]


def test_the_budgets_are_an_environment_that_is_not_part_of_the_checks():
    """`tox -e bench` runs them; plain `tox`, which CI runs, does not."""
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    (listed,) = (line for line in text.splitlines() if line.startswith("env_list"))
    assert "bench" not in listed
    section = text.partition("[testenv:bench]")[2].partition("\n[")[0]
    assert "commands = python -m benchmarks {posargs:budgets}" in section
    assert budget_rules.MOST_TIMES == 1.5
