import json
import re
from pathlib import Path

import msgspec
import pytest

from anvil_trio.decisions.record import render_line
from anvil_trio.decisions.words import AttemptOutcome, AttemptReason, RequestKind, Selection
from anvil_trio.exchange.outcome import ENDINGS, Outcome
from anvil_trio.web.observe import VIEWS
from anvil_trio.web.openapi import describe
from anvil_trio.web.router import ROUTES
from tests.house.observability_page import EXAMPLE, OPENAPI, examples, rendered
from tests.unit.decisions.samples import builder, finished, ranked_record

PAGE = (Path(__file__).parents[2] / "docs" / "observability.md").read_text(encoding="utf-8")
WORD = re.compile(r"`([^`]+)`")
SECTION = re.compile(r"^### `GET (/[^`]*)`\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)


def table(heading: str) -> list[list[str]]:
    """The rows of the table whose head begins with `heading`, as cells."""
    rows = PAGE[PAGE.index(f"| {heading}") :].splitlines()[2:]
    end = next(number for number, row in enumerate(rows) if not row.startswith("|"))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[:end]]


def first_words(heading: str) -> list[str]:
    """What a table's rows are about."""
    return [row[0].strip("`") for row in table(heading)]


def best_known_line():
    """A line that lacks no field."""
    record = json.loads(render_line(ranked_record(is_affinity_hit=True)))
    return record | {"session_id": "session", "cache_read_input_tokens": 1}


def test_the_page_explains_every_field_of_a_line():
    """The table of fields and the keys of a line are the same set."""
    assert sorted(first_words("field")) == sorted(best_known_line())


def test_the_page_marks_the_fields_that_may_be_absent():
    """What may be left out of a line is marked, and nothing else is."""
    marked = {name.strip("`") for name, text in table("field") if "*absent*" in text}
    assert set(json.loads(render_line(finished(builder())))) >= set(best_known_line()) - marked
    assert marked == {
        "admission_wait_ms",
        "affinity_hit",
        "cache_read_input_tokens",
        "client_id",
        "config_sha256",
        "replica_member_id",
        "replica_scheduler",
        "replica_selection",
        "router_version",
        "session_id",
    }


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("`outcome`", AttemptOutcome),
        ("`reason`", AttemptReason),
        ("`replica_selection` | `replica_member_id`", Selection),
    ],
)
def test_the_page_explains_every_closed_word(heading, words):
    """Each closed list of a record stands on the page in full and in order."""
    assert first_words(heading) == [word.value for word in words]


def test_the_page_names_every_kind_of_request():
    """The kinds are listed where the field is explained."""
    (text,) = [text for name, text in table("field") if name == "`kind`"]
    assert WORD.findall(text) == [kind.value for kind in RequestKind]


def test_the_page_says_of_every_ending_what_the_record_holds():
    """The table of endings is the one that the code uses."""
    shown = [
        [
            f"`{outcome.value}`",
            f"`{ending.workload_outcome.value}`",
            f"`{ending.attempt.value}`",
            "" if ending.refusal is None else f"`{ending.refusal.value}`",
        ]
        for outcome in Outcome
        for ending in [ENDINGS[outcome]]
    ]
    assert table("outcome |") == shown


def test_the_page_is_what_the_code_writes():
    """Each example is a reply, and schemas and parameters are those of the code: byte for byte."""
    assert rendered(PAGE) == PAGE
    shown = {name: text for _, name, text, _ in EXAMPLE.findall(PAGE)}
    assert shown.keys() == examples().keys()
    for name, reply in examples().items():
        again = msgspec.json.encode(msgspec.json.decode(shown[name].encode()))
        assert again == msgspec.json.encode(reply), name


def test_each_page_has_a_section_with_an_example():
    """Every read-only route of the table is on the page; nothing else is."""
    sections = dict(SECTION.findall(PAGE))
    routes = {route.path for route in ROUTES.values() if route.name in VIEWS}
    assert sections.keys() | {"/v1/models/{model}"} == routes
    bare = {path for path, text in sections.items() if "<!-- example:" not in text}
    assert bare == {"/openapi.json"}


def test_the_golden_document_is_what_the_router_answers():
    """`/openapi.json` changes only together with its golden file, which is reviewed."""
    golden = msgspec.json.encode(msgspec.json.decode(OPENAPI.read_bytes()))
    assert golden == msgspec.json.encode(describe(frozenset()))


def test_the_page_shows_the_evidence_as_a_record_holds_it():
    """The example of `replica_scheduler` is what a ranked selection leaves in the record."""
    section = PAGE.split("`replica_scheduler` holds")[1]
    shown = json.loads(section.split("```json\n")[1].split("```")[0])
    line = json.loads(render_line(ranked_record()))
    assert shown == line["replica_scheduler"]
