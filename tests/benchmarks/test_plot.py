"""The plots: valid XML with axes, labels and a legend, on both themes, the same every time."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plot import COLOURS, DARK, LIGHT, Chart, figure_text, render_charts, ticks

SVG = "{http://www.w3.org/2000/svg}"
CHART = Chart(
    "ms & more", ["one <a>", "two"], {"p50": [1.0, 2.0], "p99 > p50": [4.0, None], "none": [0, 3]}
)


def elements(text: str, tag: str, kind: str) -> list[ET.Element]:
    """Those of one class."""
    return [one for one in ET.fromstring(text).iter(f"{SVG}{tag}") if one.get("class") == kind]


def texts(text: str, kind: str | None = None) -> list[str | None]:
    """What is written, or what is written in one class."""
    found = ET.fromstring(text).iter(f"{SVG}text")
    return [one.text for one in found if kind is None or one.get("class") == kind]


def luminance(colour: str) -> float:
    """How bright a colour is, as WCAG counts."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_a_plot_names_what_it_shows():
    """Title, unit, names, and a legend with every series are in it, whatever is in their words."""
    text = render_charts("A < B", [CHART])
    assert texts(text, "title") == ["A < B"]
    assert texts(text, "series") == ["p50", "p99 > p50", "none"]
    assert {"ms & more", "one <a>", "two"} <= set(texts(text))
    assert ET.fromstring(text).findtext(f"{SVG}title") == "A < B"


def test_bars_are_as_long_as_their_figures():
    """Lengths are in proportion, each with its figure; None leaves the bar and its figure out."""
    text = render_charts("", [CHART])
    widths = [float(bar.get("width", 0)) for bar in elements(text, "rect", "bar")]
    assert texts(text, "figure") == ["1.00", "4.00", "0.00", "2.00", "3.00"]
    unit = widths[0]
    assert widths == pytest.approx([unit, 4 * unit, 0, 2 * unit, 3 * unit], abs=0.2)
    assert unit > 50


def test_each_chart_has_two_axes_and_a_grid_with_its_ticks():
    """Two lines are axes, each tick but zero has a grid line, and each has its number."""
    text = render_charts("", [CHART])
    marks = ticks(4.0)
    assert len(elements(text, "path", "axis")) == 2
    assert len(elements(text, "path", "grid")) == len(marks) - 1
    assert {f"{mark:g}" for mark in marks} <= set(texts(text))


def test_the_longest_bar_ends_at_its_tick():
    """A bar of the largest tick reaches the end of the axis, and its figure is in the picture."""
    text = render_charts("", [Chart("", ["a"], {"s": [4.0]})])
    (bar,) = elements(text, "rect", "bar")
    end = float(bar.get("x", 0)) + float(bar.get("width", 0))
    *_, axis = (path.get("d", "") for path in elements(text, "path", "axis"))
    assert end == pytest.approx(float(axis.rpartition("H")[2]), abs=0.2)
    (figure,) = elements(text, "text", "figure")
    assert float(figure.get("x", 0)) < 800


def test_charts_stand_below_each_other():
    """The picture is as high as all charts; no bar of the second is above one of the first."""
    text = render_charts("", [CHART, CHART])
    tops = [float(bar.get("y", 0)) for bar in elements(text, "rect", "bar")]
    assert max(tops[:5]) < min(tops[5:])
    one = float(ET.fromstring(render_charts("", [CHART])).get("viewBox", "").split()[3])
    two = float(ET.fromstring(text).get("viewBox", "").split()[3])
    assert max(tops) < two
    assert two - one == one - 40


def test_the_same_figures_give_the_same_plot():
    """Nothing but the arguments is in the picture."""
    assert render_charts("t", [CHART]) == render_charts("t", [CHART])


def test_a_plot_without_figures_is_a_plot():
    """No names, or none but None: an axis from 0 to 1, no bar."""
    for chart in (Chart("u", [], {}), Chart("u", ["a"], {"s": [None]})):
        text = render_charts("t", [chart])
        assert not elements(text, "rect", "bar")
        assert {"0", "1"} <= set(texts(text))


def test_a_plot_can_be_read_in_light_and_dark():
    """It has a rule for dark themes, and the bars stand out from both grounds (3 to 1)."""
    text = render_charts("", [CHART])
    assert "@media(prefers-color-scheme:dark)" in text
    assert elements(text, "rect", "page")
    assert all(contrast(colour, ground) >= 3 for colour in COLOURS for ground in (LIGHT, DARK))
    assert len(set(COLOURS)) == len(COLOURS)
    used = [bar.get("fill") for bar in elements(text, "rect", "bar")]
    assert used == [*COLOURS[:3], COLOURS[0], COLOURS[2]]


@given(st.floats(1e-9, 1e12))
def test_ticks_reach_just_above_the_most(most: float):
    """From zero in at most eleven equal steps; the last but one is below the largest figure."""
    marks = ticks(most)
    assert marks[0] == 0
    assert marks[-1] >= most * (1 - 1e-6)
    assert marks[-2] < most
    assert 4 <= len(marks) - 1 <= 11


def test_ticks_are_round_numbers():
    """Steps are 1, 2 or 5 times a power of ten; without figures there is one."""
    assert ticks(4) == [0, 1, 2, 3, 4]
    assert ticks(9) == [0, 2, 4, 6, 8, 10]
    assert ticks(0.3) == pytest.approx([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    assert ticks(0) == [0, 1]


def test_figures_are_short():
    """Three digits, whole numbers from 100 on."""
    assert [figure_text(x) for x in (0.123, 9.994, 12.34, 123.4, 66464)] == [
        "0.12",
        "9.99",
        "12.3",
        "123",
        "66464",
    ]
