"""Tables, and the files that every benchmark writes."""

import argparse
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.__main__ import BENCHMARKS
from benchmarks.percentiles import percentile
from benchmarks.plot import Chart
from benchmarks.report import add_outputs, print_table, render_table, write_outputs

ROOT = Path(__file__).parents[2]


def test_columns_are_as_wide_as_they_need_to_be(capsys: pytest.CaptureFixture[str]):
    """The first column is text, the others are numbers; what is printed is what is rendered."""
    table = render_table(["what", "us"], [["a longer name", "1"], ["b", "123.4"]])
    assert table.splitlines() == [
        "what              us",
        "a longer name      1",
        "b              123.4",
    ]
    print_table(["what", "us"], [["a longer name", "1"], ["b", "123.4"]])
    assert capsys.readouterr().out == table + "\n"


def test_figures_and_plot_go_where_the_options_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Both files are written, folders and all, and told."""
    parser = argparse.ArgumentParser()
    add_outputs(parser, "thing")
    files = tmp_path / "a" / "f.json", tmp_path / "b" / "p.svg"
    options = parser.parse_args(["--json", str(files[0]), "--svg", str(files[1])])
    write_outputs(options, "T", {"x": 1.5}, [Chart("u", ["n"], {"s": [1.0]})])
    assert json.loads(files[0].read_text(encoding="utf-8")) == {"x": 1.5}
    assert ET.fromstring(files[1].read_text(encoding="utf-8")).tag.endswith("svg")
    assert capsys.readouterr().out == f"figures: {files[0]}   plot: {files[1]}\n"


def test_both_files_have_a_place_where_nothing_is_said():
    """In the folder of what is made here, by the benchmark's name."""
    parser = argparse.ArgumentParser()
    add_outputs(parser, "thing")
    options = parser.parse_args([])
    assert options.json == Path("build/benchmarks/thing.json")
    assert options.svg == Path("build/benchmarks/thing.svg")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_takes_both_files(name: str):
    """Each has `--json` and `--svg`, by the one function that adds them, under its own name."""
    source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    assert f'add_outputs(parser, "{name}")' in source
    assert "write_outputs(" in source


def test_the_nearest_rank_is_a_percentile():
    """A figure that was seen: the least that so many do not exceed; 0 of nothing."""
    hundred = list(range(1, 101))
    assert [percentile(hundred, share) for share in (0, 0.01, 0.5, 0.99, 1)] == [1, 1, 50, 99, 100]
    assert percentile([1, 2], 0.5) == 1
    assert percentile([1, 2, 3], 0.5) == 2
    assert percentile([], 0.5) == 0
