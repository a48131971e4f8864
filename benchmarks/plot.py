"""Bar charts as SVG text: a value axis with its unit, named groups of bars, a legend.

Pure, and the same text for the same figures. The picture follows the reader's light or dark theme;
the colours of the bars stand out on both.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["COLOURS", "DARK", "LIGHT", "Chart", "figure_text", "render_charts", "ticks"]

COLOURS = ("#3f7fc1", "#c96a1f", "#2f9461", "#a95fb0", "#8c7a1e", "#c2556a")
LIGHT, DARK = "#ffffff", "#0d1117"
"""What the picture is drawn on."""

_WIDTH, _MARGIN, _TITLE, _BAR, _GAP, _ROW, _FIGURE, _LETTER = 840, 16, 40, 14, 10, 24, 64, 7.2
_STYLE = (
    f":root{{color-scheme:light dark}}text{{font:13px system-ui,sans-serif;fill:#1b1f24}}"
    f".title{{font-weight:600}}.page{{fill:{LIGHT}}}.axis{{stroke:#1b1f24}}.grid{{stroke:#d4d9df}}"
    f"@media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}.page{{fill:{DARK}}}"
    f".axis{{stroke:#e6edf3}}.grid{{stroke:#3a424c}}}}"
)


@dataclass(frozen=True)
class Chart:
    """One value axis in `unit`: for each of `names` a bar per series, whose names the legend says.

    Each series has one figure, not negative, per name; None leaves its bar out. There are at most
    as many series as `COLOURS`.
    """

    unit: str
    names: Sequence[str]
    series: Mapping[str, Sequence[float | None]]

    @property
    def most(self) -> float:
        """The largest figure; 0 if there is none."""
        figures = (figure for row in self.series.values() for figure in row)
        return max((figure for figure in figures if figure is not None), default=0.0)


def figure_text(figure: float) -> str:
    """A figure as short as three digits allow; whole from 100 on."""
    if abs(figure) >= 100:
        return f"{figure:.0f}"
    return f"{figure:.1f}" if abs(figure) >= 10 else f"{figure:.2f}"


def ticks(most: float) -> list[float]:
    """From 0 to `most` or just above it in four to ten steps of 1, 2 or 5 times a power of ten."""
    if most <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(most / 4))
    step = next(power * times for times in (5, 2, 1) if most / (power * times) >= 4)
    count = math.ceil(most / step - 1e-9)
    return [round(step * number, 12) for number in range(count + 1)]


def render_charts(title: str, charts: Sequence[Chart]) -> str:
    """One picture: the title, and the charts below each other."""
    top = float(_TITLE)
    parts: list[str] = []
    for chart in charts:
        parts += _chart(chart, top)
        top += _height(chart)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top:g}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="page" x="0" y="0" width="{_WIDTH}" height="{top:g}"/>',
        _text(_MARGIN, 24, title, "title"),
    )
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def _height(chart: Chart) -> float:
    return 2.5 * _ROW + len(chart.names) * (_GAP + _BAR * len(chart.series)) + 1.5 * _ROW


def _chart(chart: Chart, top: float) -> Iterator[str]:
    """Legend, grid with its ticks and unit, then the groups of bars, from `top` downwards."""
    left = _MARGIN + _LETTER * max((len(name) for name in chart.names), default=0) + _GAP
    marks = ticks(chart.most)
    scale = (_WIDTH - left - _FIGURE) / marks[-1]
    yield from _legend(chart, top)
    begin = top + _ROW
    end = begin + len(chart.names) * (_GAP + _BAR * len(chart.series)) + _GAP
    for mark in marks:
        x = left + mark * scale
        yield f'<path class="{"grid" if mark else "axis"}" d="M{x:.1f} {begin:g}V{end:g}"/>'
        yield _text(x, end + 16, f"{mark:g}", anchor="middle")
    yield f'<path class="axis" d="M{left:.1f} {end:g}H{_WIDTH - _FIGURE}"/>'
    yield _text((left + _WIDTH - _FIGURE) / 2, end + 34, chart.unit, anchor="middle")
    for number, name in enumerate(chart.names):
        y = begin + _GAP + number * (_GAP + _BAR * len(chart.series))
        middle = y + _BAR * len(chart.series) / 2 + 5
        yield _text(left - _GAP, middle, name, anchor="end")
        for line, row in enumerate(chart.series.values()):
            yield from _bar(left, y + line * _BAR, row[number], scale, COLOURS[line])


def _legend(chart: Chart, top: float) -> Iterator[str]:
    x = float(_MARGIN)
    for name, colour in zip(chart.series, COLOURS, strict=False):
        yield f'<rect x="{x:.1f}" y="{top:g}" width="12" height="12" rx="2" fill="{colour}"/>'
        yield _text(x + 18, top + 11, name, "series")
        x += 42 + _LETTER * len(name)


def _bar(x: float, y: float, figure: float | None, scale: float, colour: str) -> Iterator[str]:
    if figure is None:
        return
    width = figure * scale
    yield (
        f'<rect class="bar" x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{_BAR - 2}" rx="2"'
        f' fill="{colour}"/>'
    )
    yield _text(x + width + 6, y + 11, figure_text(figure), "figure")


def _text(x: float, y: float, words: str, name: str = "", anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
