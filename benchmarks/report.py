"""Figures for people and for programs: a table on stdout, JSON and a plot in files."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.plot import Chart, render_charts

__all__ = ["add_outputs", "print_table", "render_table", "write_outputs"]

_FOLDER = Path("build/benchmarks")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be; the first is text, the others are numbers."""
    print(render_table(header, rows))


def render_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """What `print_table` prints: one line for the header and one for each row."""
    lines = [header, *rows]
    widths = [max(len(row[at]) for row in lines) for at in range(len(header))]
    return "\n".join(
        "  ".join([
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ])
        for row in lines
    )


def add_outputs(parser: argparse.ArgumentParser, name: str) -> None:
    """Give a benchmark its options `--json FILE` and `--svg FILE`; both are always written."""
    for suffix, what in (("json", "the figures"), ("svg", "the plot")):
        path = _FOLDER / f"{name}.{suffix}"
        told = f"where {what} go (default: {path})"
        parser.add_argument(f"--{suffix}", type=Path, default=path, metavar="FILE", help=told)


def write_outputs(
    options: argparse.Namespace,
    title: str,
    figures: Mapping[str, object],
    charts: Sequence[Chart],
) -> None:
    """Write figures and plot where `options` say, and tell where that is."""
    _write(options.json, json.dumps(figures, indent=2) + "\n")
    _write(options.svg, render_charts(title, charts))
    print(f"figures: {options.json}   plot: {options.svg}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
