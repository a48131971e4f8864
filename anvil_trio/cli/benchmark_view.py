"""A benchmark as tables and as a plot. Pure."""

from collections.abc import Callable, Sequence

from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from anvil_trio.evals.plot import Line, Panel, render_plot
from anvil_trio.evals.samples import Round, Spread

__all__ = ["project_added", "render_added", "render_rounds", "render_svg"]

_SPREADS: Sequence[tuple[str, Callable[[Round], Spread | None]]] = (
    ("first token", lambda one: one.first_token_ms),
    ("gap", lambda one: one.gap_ms),
    ("total", lambda one: one.total_ms),
)
_COLUMNS = ("at once", "requests", "errors", "first token, ms", "gap, ms", "total, ms")
_RATES = ("tokens/s", "requests/s")
_UNKNOWN = "-"


def render_rounds(title: str, rounds: Sequence[Round]) -> Table:
    """One row a round; a time is its p50, p90 and p99."""
    table = Table(
        *_COLUMNS, *_RATES, title=title, title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    for one in rounds:
        cells = [
            f"{one.concurrency}",
            f"{one.requests}",
            " ".join(f"{kind}={count}" for kind, count in one.errors.items()) or _UNKNOWN,
            *(_times(pick(one)) for _, pick in _SPREADS),
            f"{one.tokens_per_second:g}",
            f"{one.requests_per_second:g}",
        ]
        table.add_row(*map(Text, cells))
    return table


def _times(spread: Spread | None) -> str:
    if spread is None:
        return _UNKNOWN
    return f"{spread.p50:g} / {spread.p90:g} / {spread.p99:g}"


def project_added(one: Round, other: Round) -> dict[str, JsonValue]:
    """What the other server takes more than the one, at the median, in milliseconds."""
    added: dict[str, JsonValue] = {"concurrency": one.concurrency}
    for name, pick in _SPREADS:
        here, there = pick(one), pick(other)
        known = None if here is None or there is None else round(there.p50 - here.p50, 2)
        added[f"{name.replace(' ', '_')}_p50_ms"] = known
    added["tokens_per_second"] = round(other.tokens_per_second - one.tokens_per_second, 2)
    return added


def render_added(rounds: Sequence[Round], others: Sequence[Round]) -> Table:
    """What the other server adds, one row a round."""
    title = "what --against adds, at the median"
    names = ["first token, ms", "gap, ms", "total, ms", "tokens/s"]
    table = Table(
        "at once", *names, title=title, title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    for one, other in zip(rounds, others, strict=True):
        at_once, *added = project_added(one, other).values()
        table.add_row(f"{at_once}", *(_signed(value) for value in added))
    return table


def _signed(value: JsonValue) -> str:
    return f"{value:+g}" if isinstance(value, float) else _UNKNOWN


def render_svg(rounds: Sequence[Round], others: Sequence[Round]) -> str:
    """Time to first token, gap, total and tokens per second over the concurrency."""
    panels = [
        Panel(f"{name}, ms", [*_lines(pick, rounds, "--url"), *_lines(pick, others, "--against")])
        for name, pick in _SPREADS
    ]
    rates = [Line("--url", [one.tokens_per_second for one in rounds])]
    if others:
        rates.append(Line("--against", [one.tokens_per_second for one in others], is_dashed=True))
    labels = [f"{one.concurrency} at once" for one in rounds]
    return render_plot("anvil-serving eval benchmark", labels, [*panels, Panel("tokens/s", rates)])


def _lines(
    pick: Callable[[Round], Spread | None], rounds: Sequence[Round], whose: str
) -> Sequence[Line]:
    if not rounds:
        return ()
    spreads = [pick(one) for one in rounds]
    is_dashed = whose != "--url"
    return [
        Line(f"{whose} p50", [None if one is None else one.p50 for one in spreads], is_dashed),
        Line(f"{whose} p99", [None if one is None else one.p99 for one in spreads], is_dashed),
    ]
