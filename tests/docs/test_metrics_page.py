"""docs/metrics.md and the dashboard: the metrics they name are those that are exposed."""

import json
import re
from typing import Any

from anvil_trio.decisions.export import DropReason
from anvil_trio.decisions.ring import RING_SIZE
from anvil_trio.decisions.words import WorkloadOutcome
from anvil_trio.exchange.metering import REFUSALS
from anvil_trio.facts import Freshness
from anvil_trio.meters.board import ATTEMPT_WORDS, DISCONNECTED, STALLED
from anvil_trio.meters.catalog import CATALOG
from anvil_trio.meters.metric import Kind
from anvil_trio.operations.model import State
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
DASHBOARD = json.loads((ROOT / "docs" / "grafana" / "anvil.json").read_text(encoding="utf-8"))
NAMES = {metric.name: metric for metric in CATALOG}
_EXPOSED = re.compile(r"\banvil_router_\w+")


def label_words() -> dict[str, list[str]]:
    """The words of each row of the table of labels."""
    rows = re.findall(r"^\| (`\w+`[^|]*) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    return {name: re.findall(r"`(\w+)`", text.partition(":")[0]) for name, text in rows}


def expressions() -> list[str]:
    """Every query of every panel."""
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def metric_of(exposed: str) -> str:
    """The metric that a name in a query belongs to; of a histogram three series are exposed."""
    if exposed in NAMES:
        return exposed
    stem = re.sub(r"_(?:bucket|sum|count)$", "", exposed)
    assert NAMES[stem].kind is Kind.HISTOGRAM, exposed
    return stem


def test_the_table_is_the_catalog() -> None:
    """Name, kind, labels and words of every metric, in the order in which they are exposed."""
    table = PAGE.partition("<!-- metrics:begin -->")[2].partition("<!-- metrics:end -->")[0]
    rows = [
        (cells[1].strip(" `"), cells[2].strip(), tuple(re.findall(r"`(\w+)`", cells[3])), cells[4])
        for cells in (row.split("|") for row in table.strip().splitlines()[2:])
    ]
    assert rows == [
        (metric.name, metric.kind.value, metric.labels, f" {metric.text} ") for metric in CATALOG
    ]


def test_names_are_used_once_and_say_what_they_are() -> None:
    """Counters end in `_total` and nothing else does; histograms are in seconds."""
    assert len(NAMES) == len(CATALOG)
    for metric in CATALOG:
        assert metric.name.startswith("anvil_router_")
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
        assert metric.name.endswith("_seconds") or metric.kind is not Kind.HISTOGRAM


def test_the_words_of_every_closed_label_are_on_the_page() -> None:
    """Each closed list in full and in order."""
    words = label_words()
    assert words["`outcome` of requests"] == [one.value for one in WorkloadOutcome]
    assert words["`outcome` of attempts"] == [one.value for one in ATTEMPT_WORDS]
    assert words["`reason` of refusals"] == list(REFUSALS)
    assert words["`reason` of dropped spans"] == [one.value for one in DropReason]
    assert words["`kind` of disconnects"] == [DISCONNECTED, STALLED]
    assert words["`state`"] == [one.value for one in State]
    assert words["`freshness`"] == [one.value for one in Freshness]
    assert f"1 to {RING_SIZE}:" in PAGE


def test_every_label_of_the_catalog_is_explained() -> None:
    """No metric has a label that the table of labels lacks."""
    explained = {word for name in label_words() for word in re.findall(r"`(\w+)`", name)}
    assert {label for metric in CATALOG for label in metric.labels} <= explained


def test_the_dashboard_asks_for_what_is_exposed() -> None:
    """Every name in a query or a variable is one of the catalog, and every one of those is used."""
    used = {metric_of(name) for text in expressions() for name in _EXPOSED.findall(text)}
    assert used == set(NAMES)
    for variable in DASHBOARD["templating"]["list"]:
        for name in _EXPOSED.findall(json.dumps(variable)):
            assert metric_of(name) in NAMES


def test_the_dashboard_groups_by_labels_that_there_are() -> None:
    """Labels in selectors, groupings and legends belong to the metric that is asked for."""
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    for panel in panels:
        for target in panel.get("targets", []):
            (exposed,) = set(_EXPOSED.findall(target["expr"]))
            known = {*NAMES[metric_of(exposed)].labels, "le"}
            selectors = re.findall(r"[{,]\s*(\w+)\s*[=!]", target["expr"])
            groups = re.findall(r"by \(([^)]*)\)", target["expr"])
            legend = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            named = {*selectors, *legend, *", ".join(groups).split(", ")} - {""}
            assert named <= known, target["expr"]


def test_the_dashboard_can_be_imported() -> None:
    """Panels have different ids and do not overlap; the data source is chosen by the reader."""
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & own, panel["title"]
        cells |= own
    sources = {
        target["datasource"]["uid"] for panel in panels for target in panel.get("targets", [])
    }
    assert sources == {"${datasource}"}
