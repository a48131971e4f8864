"""docs/cli/serves.md and docs/lifecycle.md: what they list is what there is."""

import json
import re

from anvil_trio.cli.main import PROGRAM, anvil_serving
from anvil_trio.cli.spec import MANIFEST_PATH, manifest
from anvil_trio.lifecycle.events import EVENT_KEYS, EventKind
from anvil_trio.lifecycle.guard import LifecycleRefusal
from anvil_trio.lifecycle.journal import SCHEMA
from anvil_trio.lifecycle.manifest import _ROWS, parse_events, parse_manifest, parse_profiles
from anvil_trio.lifecycle.progress import Order, Path, Status, Step, steps_of
from tests.house.tree import ROOT
from tests.lifecycle.samples import DUO, native

PAGE = (ROOT / "docs" / "cli" / "serves.md").read_text(encoding="utf-8")
LIFECYCLE = (ROOT / "docs" / "lifecycle.md").read_text(encoding="utf-8")
MANIFEST = json.loads((ROOT / MANIFEST_PATH).read_text(encoding="utf-8"))


def rows(page: str, head: str) -> list[list[str]]:
    """The cells of the table whose head begins with a word."""
    table = page[page.index(f"\n| {head} |") :].strip().split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table]


def words(cell: str) -> list[str]:
    """What a cell shows in code type."""
    return re.findall(r"`([^`]+)`", cell)


def block(mark: str) -> bytes:
    """The code block below a marker comment."""
    (found,) = re.findall(rf"<!-- {mark} -->\n```\w+\n(.*?)```", LIFECYCLE, re.DOTALL)
    return str(found).encode()


def test_the_commands_of_the_page_are_those_of_the_manifest():
    """T013: each with its arguments, authority and options, in the order of the manifest."""
    assert [
        (words(command)[0], words(arguments), authority, words(options))
        for command, arguments, authority, options in rows(PAGE, "command")
    ] == [
        (
            entry["command"],
            entry["arguments"],
            entry["authority"],
            [option["name"] for option in entry["options"]],
        )
        for entry in MANIFEST["commands"]
        if entry["command"].split()[1] == "serves"
    ]


def test_the_examples_call_commands_that_exist():
    """With options that they have."""
    known = {" ".join(spec.words): spec for spec in manifest(anvil_serving, PROGRAM)}
    called = re.findall(r"^(anvil-serving serves [^#\n]*)", PAGE, re.MULTILINE)
    assert len(called) > 8
    for line in called:
        (spec,) = [spec for name, spec in known.items() if f"{line} ".startswith(f"{name} ")]
        used = set(re.findall(r"--[a-z-]+", line))
        assert used <= {option.name for option in spec.options}


def test_the_refusals_of_the_page_are_the_guards():
    """T012: two fixed codes."""
    assert [words(code)[0] for code, _ in rows(PAGE, "code")] == [
        each.value for each in LifecycleRefusal
    ]


def test_the_tables_of_the_page_are_those_of_the_files():
    """Every key of every table, in the order of the model."""
    assert [(words(name)[0], words(keys)) for name, keys in rows(LIFECYCLE, "table")] == [
        (name, list(model.model_fields)) for name, model in _ROWS.items()
    ]


def test_the_files_of_the_page_are_files():
    """Each example is read by its parser."""
    found = parse_manifest([block("serves")])
    assert [each.name for each in found.serves] == ["engine-blue", "engine-green"]
    told = parse_manifest([(native("big", **DUO) + native("a", groups='["day"]')).encode()])
    assert [each.id for each in parse_profiles(block("profiles"), told)] == ["night"]
    assert parse_events(block("events")).enabled


def test_the_steps_and_statuses_of_the_page_are_the_machines():
    """Both orders, every step, every status, every kind of event and its keys."""
    assert [words(steps) for _, steps in rows(LIFECYCLE, "order")] == [
        [step.value for step in steps_of(order, Path.FULL)] for order in Order
    ]
    assert {words(step)[0] for step, _ in rows(LIFECYCLE, "step")} == {step.value for step in Step}
    undone = [
        [words(cell) for cell in row[1:]] for row in rows(LIFECYCLE, "what may have happened")
    ]
    assert undone[:2] == [
        [
            [step.value for step in steps_of(order, path)]
            for order, path in zip(Order, paths, strict=True)
        ]
        for paths in ((Path.LEAVE, Path.NOTHING), (Path.REOPEN, Path.REOPEN))
    ]
    for word in (*Status, *EventKind, *EVENT_KEYS, SCHEMA):
        assert f"`{word}`" in LIFECYCLE
