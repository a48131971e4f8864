"""A small line plot as SVG: panels side by side, each with its lines over the same labels. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Line", "Panel", "render_plot"]

_WIDTH, _HEIGHT = 300, 200
_LEFT, _TOP, _GAP, _BELOW = 52, 44, 40, 70
_TICKS = 4
_COLOURS = ("#1f5fa8", "#c4511c", "#2d7d46", "#7a4fa3", "#8a6d1b", "#5b5b5b")
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line; a value that is not known leaves a gap. Dashed if it is the other server's."""

    name: str
    values: Sequence[float | None]
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Some lines over the same labels, from zero to their greatest value."""

    title: str
    lines: Sequence[Line]


def render_plot(title: str, labels: Sequence[str], panels: Sequence[Panel]) -> str:
    """The plot. Equal arguments give equal text."""
    width = _LEFT + len(panels) * (_WIDTH + _GAP + _LEFT)
    height = _TOP + _HEIGHT + _BELOW + 14 * max(len(panel.lines) for panel in panels)
    parts = [
        _HEAD.format(width=width, height=height),
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="14">{escape(title)}</text>',
    ]
    for at, panel in enumerate(panels):
        parts += _panel(_LEFT + at * (_WIDTH + _GAP + _LEFT), labels, panel)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(left: int, labels: Sequence[str], panel: Panel) -> Iterator[str]:
    known = [value for line in panel.lines for value in line.values if value is not None]
    most = max(known, default=0.0) or 1.0
    bottom = _TOP + _HEIGHT
    yield f'<text x="{left}" y="{_TOP - 10}" font-weight="bold">{escape(panel.title)}</text>'
    for tick in range(_TICKS + 1):
        y = bottom - _HEIGHT * tick / _TICKS
        yield f'<line x1="{left}" y1="{y:g}" x2="{left + _WIDTH}" y2="{y:g}" stroke="#ddd"/>'
        words = f"{most * tick / _TICKS:.4g}"
        yield f'<text x="{left - 6}" y="{y + 4:g}" text-anchor="end">{words}</text>'
    places = [left + _WIDTH * (at + 0.5) / len(labels) for at in range(len(labels))]
    for x, label in zip(places, labels, strict=True):
        yield f'<text x="{x:g}" y="{bottom + 16}" text-anchor="middle">{escape(label)}</text>'
    for number, line in enumerate(panel.lines):
        colour = _COLOURS[number % len(_COLOURS)]
        heights = [None if v is None else bottom - _HEIGHT * v / most for v in line.values]
        yield from _line(list(zip(places, heights, strict=True)), colour, line)
        y = bottom + 38 + 14 * number
        yield f'<text x="{left}" y="{y}" fill="{colour}">{escape(line.name)}</text>'


def _line(points: Sequence[tuple[float, float | None]], colour: str, line: Line) -> Iterator[str]:
    known = [(x, y) for x, y in points if y is not None]
    path = " ".join(f"{x:g},{y:g}" for x, y in known)
    dash = ' stroke-dasharray="5 3"' if line.is_dashed else ""
    if known:
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for x, y in known:
        yield f'<circle cx="{x:g}" cy="{y:g}" r="3" fill="{colour}"/>'
