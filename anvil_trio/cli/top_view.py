"""The screen of `router top`. Pure: a state and a moment to a rich renderable, nothing printed."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from anvil_trio.cli.replies import plain_text
from anvil_trio.cli.top_model import Top, rate_of
from anvil_trio.cli.top_replies import Ended, MemberRow, TierRow

__all__ = ["LAST_SHOWN", "render_top"]

LAST_SHOWN = 10
"""How many of the last ended requests are listed."""

_UNKNOWN = "?"
_PARTLY = "replicas_partial"
_GOOD, _BAD, _DIM = "green", "red", "dim"


def render_top(top: Top, now: float, *, is_live: bool) -> RenderableType:
    """Everything on one screen; a snapshot that is not live says nothing that takes the feed."""
    parts: list[RenderableType] = [
        _headline(top, is_live=is_live),
        _tiers(top, now, is_live=is_live),
    ]
    if is_live:
        parts.append(_outcomes(top, now))
    return Group(*parts)


def _headline(top: Top, *, is_live: bool) -> Text:
    line = Text("anvil-serving", style="bold")
    if top.router is not None:
        line.append(f" {_shown(top.router.version)}  up {_duration(top.router.uptime_s)}")
    if is_live:
        line.append(f"  feed: {top.feed}")
        if top.lost_events:
            line.append(f"  lost events: {top.lost_events}", style=_BAD)
    if top.problem is not None:
        line.append(f"  {top.problem}, trying again", style=_BAD)
    return line


def _tiers(top: Top, now: float, *, is_live: bool) -> Table:
    table = Table("tier", "member", "ready", "intent", expand=False)
    for name in ("active", "waiting", "tok/s"):
        table.add_column(name, justify="right")
    for tier in top.tiers:
        counted = rate_of(top, now, tier.tier_id) if is_live else None
        table.add_row(
            Text(_shown(tier.tier_id)),
            "",
            _ready(tier),
            _intent(tier),
            _load(tier.active, tier.ceiling),
            _number(tier.waiting),
            _rate(counted if tier.engine_rate is None else tier.engine_rate),
        )
        for member in tier.members:
            counted = rate_of(top, now, tier.tier_id, member.member_id) if is_live else None
            table.add_row(
                "",
                Text(_shown(member.member_id)),
                _ready(member),
                _intent(member),
                _load(member.active, member.ceiling),
                "",
                _rate(counted),
            )
    return table


def _outcomes(top: Top, now: float) -> Table:
    table = Table("ended", "alias", "member", "outcome", expand=False)
    for name in ("seconds", "first", "tokens"):
        table.add_column(name, justify="right")
    for seen in reversed(top.seen[-LAST_SHOWN:]):
        table.add_row(f"{_duration(int(now - seen.at))} ago", *_outcome(seen.ended))
    return table


def _outcome(ended: Ended) -> Iterator[Text]:
    style = _GOOD if ended.outcome == "success" else _BAD
    yield Text(_shown(ended.route))
    yield Text(ended.member_id or "")
    yield Text(_shown(ended.outcome), style=style)
    yield _seconds(ended.latency_ms)
    yield _seconds(ended.first_content_ms)
    yield _number(ended.completion_tokens)


def _ready(row: TierRow | MemberRow) -> Text:
    if row.reason == _PARTLY:
        return Text("partly", style=_BAD)
    if row.is_ready:
        return Text("yes", style=_GOOD)
    return Text(f"no ({_shown(row.reason)})", style=_BAD)


def _intent(row: TierRow | MemberRow) -> Text:
    if row.state is None:
        return Text("")
    return Text(f"{row.state}, draining" if row.is_draining else row.state)


def _load(active: int | None, ceiling: int | None) -> Text:
    return Text(_number(active).plain + ("" if ceiling is None else f"/{ceiling}"))


def _number(value: int | None) -> Text:
    return Text(_UNKNOWN, style=_DIM) if value is None else Text(str(value))


def _rate(value: float | None) -> Text:
    return Text("") if value is None else Text(f"{value:.1f}")


def _seconds(value_ms: int | None) -> Text:
    return Text("") if value_ms is None else Text(f"{value_ms / 1000:.2f}")


def _duration(seconds: int) -> str:
    minutes, seconds = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _shown(text: str | None) -> str:
    return plain_text(text) or _UNKNOWN
