"""A bar chart as an SVG file, written by hand: a title, named bars, a figure beside each."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

__all__ = ["write_bars"]

_WIDTH, _LABEL, _BAR, _GAP, _TOP = 720, 240, 22, 10, 44
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1f24}.title{font-weight:600}.bar{fill:#3b6ea5}"
)


def write_bars(path: Path, title: str, bars: Sequence[tuple[str, float, str]]) -> None:
    """Write the chart to `path`. A bar is its name, its length, and the text of its figure."""
    most = max(length for _, length, _ in bars)
    height = _TOP + len(bars) * (_BAR + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="0" y="20">{escape(title)}</text>',
    ]
    for number, (name, length, figure) in enumerate(bars):
        y = _TOP + number * (_BAR + _GAP)
        width = (_WIDTH - _LABEL - 90) * length / most
        parts.append(
            f'<text x="0" y="{y + 16}">{escape(name)}</text>'
            f'<rect class="bar" x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2"/>'
            f'<text x="{_LABEL + width + 8:.1f}" y="{y + 16}">{escape(figure)}</text>'
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")
