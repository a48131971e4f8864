"""Figures for people and for programs: a table on stdout, JSON in a file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["print_table", "write_json"]


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be; the first is text, the others are numbers."""
    widths = [max(len(row[at]) for row in [header, *rows]) for at in range(len(header))]
    for row in [header, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells[1:]]))


def write_json(path: Path, figures: Mapping[str, object]) -> None:
    """Write `figures` to `path`, whose folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
