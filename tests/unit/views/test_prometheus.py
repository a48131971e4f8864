import math
from types import SimpleNamespace

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families as plain_families

from anvil_trio.admission.messages import AdmissionSnapshot
from anvil_trio.config.model import RouterConfig
from anvil_trio.exchange.metering import make_meters
from anvil_trio.meters.buffer import Buffer
from anvil_trio.meters.catalog import CATALOG
from anvil_trio.meters.metric import Kind
from anvil_trio.names import Alias, TierId
from anvil_trio.views.exposition import TextFormat, format_for, render
from anvil_trio.views.prometheus import ProcessNumbers, Scrape, make_registry
from anvil_trio.views.state_rows import StateRows
from tests.unit.decisions.samples import record
from tests.unit.views.samples import (
    CANARY,
    DIRECT,
    REPLICA,
    capacity_config,
    direct_snapshot,
    ranked_engines,
    replica_snapshot,
    verdicts,
)

PARSERS = {TextFormat.PLAIN: plain_families, TextFormat.OPENMETRICS: openmetrics_families}
FULL = ProcessNumbers(
    started_unix=1.5,
    buffer_capacity=10_000,
    log_failures=2,
    spans_exported=3,
    spans_dropped={"queue_full": 4},
)


def scrape(
    config: RouterConfig | None = None,
    *,
    process: ProcessNumbers = FULL,
    only: tuple[Alias, TierId] | None = None,
) -> Scrape:
    """All there is to show of a house where something of everything has happened."""
    shown = capacity_config() if config is None else config
    alias = None if only is None else only[0]
    state = StateRows(
        shown,
        verdicts()[0],
        ranked_engines,
        {REPLICA: replica_snapshot(2, 1), DIRECT: direct_snapshot()},
        AdmissionSnapshot(active=3, max_concurrency=64),
        now=0.0,
        only=alias,
    )
    buffer = Buffer([record()], shown.routes, limit=10, only=alias)
    for work in (state.work(), buffer.work()):
        for _ in work:
            pass
    return Scrape(make_meters(shown), state, buffer.rows, process, only)


def text(of: Scrape, wanted: TextFormat = TextFormat.PLAIN) -> str:
    """The whole page."""
    return b"".join(render(make_registry(of), wanted)).decode()


def samples(page: str):
    """Every sample as name, labels, value."""
    return [
        (one.name, tuple(sorted(one.labels.items())), one.value)
        for family in plain_families(page)
        for one in family.samples
    ]


@pytest.mark.parametrize("wanted", TextFormat)
def test_the_librarys_own_parser_reads_what_the_catalog_says(wanted):
    """Each metric is announced once, in order, with its kind and words."""
    page = text(scrape(), wanted)
    found = [(family.name, family.type, family.documentation) for family in PARSERS[wanted](page)]
    assert found == [
        (
            one.name.removesuffix("_total"),
            one.kind.value,
            one.text,
        )
        for one in CATALOG
    ]


@pytest.mark.parametrize("wanted", TextFormat)
def test_every_sample_has_exactly_the_labels_of_its_metric(wanted):
    """R012: no label that the catalog does not name, and `le` for histograms."""
    labels = {one.name.removesuffix("_total"): set(one.labels) for one in CATALOG}
    for family in PARSERS[wanted](text(scrape(), wanted)):
        for one in family.samples:
            assert set(one.labels) - {"le"} == labels[family.name], one.name


def test_no_sample_stands_twice():
    """Though a family comes in pieces, no series does."""
    found = [(name, labels) for name, labels, _ in samples(text(scrape()))]
    assert len(found) == len(set(found))


def test_a_family_in_pieces_is_headed_once():
    """Every HELP and TYPE line is there once, whatever the number of rows."""
    shown = capacity_config()
    routes = {f"alias-{number}": REPLICA for number in range(60)} | dict(shown.routes)
    page = text(scrape(shown.model_copy(update={"routes": routes})))
    heads = [line for line in page.splitlines() if line.startswith("#")]
    assert len(heads) == len(set(heads)) == 2 * len(CATALOG)
    names = [line.partition("{")[0] for line in page.splitlines() if line.startswith("anvil")]
    assert names.count("anvil_router_requests_total") == 6 * (63 + 2)


def test_no_piece_is_large():
    """However many aliases there are, a piece has at most some fifty samples."""
    shown = capacity_config()
    routes = {f"alias-{number}": REPLICA for number in range(600)} | dict(shown.routes)
    registry = make_registry(scrape(shown.model_copy(update={"routes": routes})))
    sizes = [len(family.samples) for family in registry.collect()]
    assert max(sizes) == 51  # three histograms of 17
    assert sum(sizes) > 10_000


def test_the_numbers_of_the_process():
    """Ring, log, spans and start are shown as they are."""
    found = {name: value for name, labels, value in samples(text(scrape())) if not labels}
    assert found["anvil_router_decision_buffer_capacity"] == 10_000
    assert found["anvil_router_decision_log_write_failures_total"] == 2
    assert found["anvil_router_trace_spans_exported_total"] == 3
    assert found["anvil_router_process_start_time_seconds"] == 1.5
    assert (
        "anvil_router_trace_spans_dropped_total",
        (("reason", "queue_full"),),
        4.0,
    ) in samples(text(scrape()))


def test_what_there_is_not_has_no_sample():
    """Without a decision log and a collector their numbers are absent, and still announced."""
    page = text(scrape(process=ProcessNumbers(started_unix=1.5, buffer_capacity=1)))
    names = {name for name, _, _ in samples(page)}
    for name in ("decision_log_write_failures", "trace_spans_exported", "trace_spans_dropped"):
        assert f"anvil_router_{name}_total" not in names
        assert f"# TYPE anvil_router_{name}_total counter" in page


def test_an_unknown_average_is_absent():
    """Only rows with samples have an average and percentiles; none of them is 0 or NaN."""
    stem = "anvil_router_decision_buffer_latency"
    found = {(name, labels): value for name, labels, value in samples(text(scrape()))}
    known = [dict(labels)["model"] for name, labels in found if name == f"{stem}_ms_p95"]
    assert known == ["", "llm.primary"]
    assert found[f"{stem}_samples", (("model", "chat"),)] == 0
    assert found[f"{stem}_ms_average", (("model", ""),)] == 2000
    assert not any(map(math.isnan, found.values()))


def test_one_alias_leaves_the_series_of_others_out():
    """Only that alias, only its tier and members; the process's own numbers stay."""
    page = text(scrape(only=(Alias("chat"), DIRECT)))
    found = samples(page)
    assert {dict(labels)["alias"] for _, labels, _ in found if "alias" in dict(labels)} == {"chat"}
    assert {dict(labels)["model"] for _, labels, _ in found if "model" in dict(labels)} == {"chat"}
    assert {dict(labels)["tier"] for _, labels, _ in found if "tier" in dict(labels)} == {DIRECT}
    assert any(name == "anvil_router_process_start_time_seconds" for name, _, _ in found)
    assert any(name == "anvil_router_admission_wait_seconds_count" for name, _, _ in found)


def test_nothing_private_is_shown():
    """R012: no URL, host, resource, variable, path, parameter or digest of the configuration."""
    for wanted in TextFormat:
        assert CANARY not in text(scrape(), wanted).lower()


def test_a_tiers_odd_name_spoils_no_line():
    """A tier may be called anything: quotes, line ends and hashes are escaped, in every piece."""
    odd = 'a"b\n# c\\\r# d'
    shown = capacity_config()
    tiers = [shown.tiers[0].model_copy(update={"id": odd}), shown.tiers[1]]
    routes = {f"alias-{number}": TierId(odd) for number in range(99)} | {"chat": DIRECT}
    changed = shown.model_copy(update={"tiers": tuple(tiers), "routes": routes})
    of = Scrape(
        make_meters(changed),
        SimpleNamespace(of=lambda _metric: []),  # type: ignore[arg-type]
        scrape().buffer,
        FULL,
    )
    for wanted in TextFormat:
        families = list(PARSERS[wanted](text(of, wanted)))
        tiers_seen = {one.labels["tier"] for one in families[0].samples}
        assert tiers_seen == {"", odd, DIRECT}
        assert len(families[0].samples) == 6 * (99 + 1 + 2)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", TextFormat.PLAIN),
        ("*/*", TextFormat.PLAIN),
        ("text/plain; version=1.0.0", TextFormat.PLAIN),
        ("application/openmetrics-text", TextFormat.OPENMETRICS),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;q=0.2",
            TextFormat.OPENMETRICS,
        ),
        ("text/html, Application/OpenMetrics-Text; version=x", TextFormat.OPENMETRICS),
        ("application/openmetrics-textual", TextFormat.PLAIN),
    ],
)
def test_the_format_follows_accept(accept, wanted):
    """OpenMetrics by its name, in the version we write; else the plain text."""
    assert format_for(accept) is wanted


def test_histograms_are_whole():
    """Each has all bounds, rising counts, and a count that is the last of them."""
    of = scrape()
    of.meters.members[REPLICA, capacity_config().tiers[0].member_ids[0]].gap.observe(0.03)
    families = {family.name: family for family in plain_families(text(of))}
    for metric in CATALOG:
        if metric.kind is Kind.HISTOGRAM:
            series: dict[tuple[str, str | None], list[float]] = {}
            for one in families[metric.name].samples:
                if one.name.endswith("_bucket"):
                    key = (one.labels["tier"], one.labels.get("member"))
                    series.setdefault(key, []).append(one.value)
            assert all(counts == sorted(counts) and len(counts) == 15 for counts in series.values())
    gaps = families["anvil_router_stream_gap_seconds"].samples
    assert sum(one.value for one in gaps if one.name.endswith("_count")) == 1
    assert sum(one.value for one in gaps if one.name.endswith("_sum")) == 0.03
