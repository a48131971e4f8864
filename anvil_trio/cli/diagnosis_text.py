"""A diagnosis as a person reads it. Pure: an object to a rich renderable, nothing printed."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

__all__ = ["render_diagnosis"]

_NOT_SHOWN = frozenset({"observations", "next_checks"})
_UNITS = {"_ms": " ms", "_seconds": " s"}


def render_diagnosis(diagnosis: Mapping[str, JsonValue]) -> RenderableType:
    """The requests one after another, then what cannot be said."""
    parts: list[RenderableType] = []
    if "request" in diagnosis:
        parts += _request(_mapping(diagnosis["request"]))
        current = _mapping(diagnosis["current_router"])
        parts += [
            _heading("router now"),
            _facts({"status": current["status"], **_mapping(current["metadata"])}),
        ]
    else:
        rows = diagnosis["requests"]
        assert isinstance(rows, list)
        for row in rows:
            parts += [*_request(_mapping(row)), Text()]
        count = f"{len(rows)} {'running' if diagnosis['active'] else 'recorded'}"
        parts.append(
            Text(f"{count}, and more that are not shown" if diagnosis["truncated"] else count)
        )
    parts += [_heading("limits of this"), *_list(diagnosis["limitations"])]
    return Group(*parts)


def _request(request: Mapping[str, JsonValue]) -> Iterator[RenderableType]:
    yield _heading("request")
    yield _facts({key: value for key, value in request.items() if key not in _NOT_SHOWN})
    yield _heading("observed")
    yield from _list(request["observations"])
    if request["next_checks"]:
        yield _heading("check next")
        yield from _list(request["next_checks"])


def _facts(facts: Mapping[str, JsonValue]) -> Table:
    """What is known, a line each; what is not known takes none."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")  # a digest is whole or of no use
    for key, value in _flat(facts):
        table.add_row(Text(f"  {key}", style="dim"), Text(value))
    return table


def _flat(facts: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif value is not None:
            unit = next((unit for end, unit in _UNITS.items() if key.endswith(end)), "")
            yield key.removesuffix("_ms").removesuffix("_seconds"), f"{_said(value)}{unit}"


def _said(value: JsonValue) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _list(entries: JsonValue) -> Iterator[Text]:
    assert isinstance(entries, list)
    for entry in entries:
        words = entry["message"] if isinstance(entry, dict) else entry
        yield Text(f"  - {words}")


def _heading(words: str) -> Text:
    return Text(words, style="bold")


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}
