"""A benchmark as tables and as a plot."""

from io import StringIO
from xml.etree import ElementTree as ET

from rich.console import Console

from anvil_trio.cli.benchmark_view import (
    project_added,
    render_added,
    render_rounds,
    render_svg,
)
from anvil_trio.evals.samples import Sample, summarise

FAST = summarise(4, [Sample(0.1, 1.0, (0.01,), 10)], 1.0)
SLOW = summarise(4, [Sample(0.15, 1.5, (0.01,), 10), Sample(error="cut")], 2.0)
DEAD = summarise(4, [Sample(error="refused")], 1.0)


def shown(table):
    """A table as text."""
    out = StringIO()
    Console(file=out, width=200).print(table)
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_a_round_is_a_row():
    """Times are p50, p90 and p99; what is not known is a stroke, errors have their kinds."""
    rows = shown(render_rounds("title", [FAST, SLOW, DEAD]))
    assert rows[0] == "title"
    assert rows[2] == "4 1 - 100 / 100 / 100 10 / 10 / 10 1000 / 1000 / 1000 10 1"
    assert rows[3].startswith("4 2 cut=1 150 / 150 / 150")
    assert rows[4] == "4 1 refused=1 - - - 0 0"


def test_what_the_other_adds_is_told_with_its_sign():
    """At the median; unknown if either is."""
    assert project_added(FAST, SLOW) == {
        "concurrency": 4,
        "first_token_p50_ms": 50.0,
        "gap_p50_ms": 0.0,
        "total_p50_ms": 500.0,
        "tokens_per_second": -5.0,
    }
    assert shown(render_added([FAST, FAST], [SLOW, DEAD]))[2:] == [
        "4 +50 +0 +500 -5",
        "4 - - - -10",
    ]


def test_the_plot_has_four_panels():
    """With the other server's lines dashed, if there is one."""
    for others, lines in (([], 7), ([SLOW], 14)):
        tree = ET.fromstring(render_svg([FAST], others))
        assert len(list(tree.iter("{http://www.w3.org/2000/svg}polyline"))) == lines
    assert "polyline" not in render_svg([DEAD], []).split("tokens/s")[0]
