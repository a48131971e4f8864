"""Every page holds exactly what docs/observability.md says that it can."""

import msgspec
import pytest

from anvil_trio.views import shape
from anvil_trio.web.replies import ERRORS, REPLIES
from tests.support.documented import PAGE, find_faults, read_schemas
from tests.support.mutants import kill
from tests.support.pages import pages
from tests.unit.views.leak_mutants import LEAKS

MADE = pages()
SCHEMAS = read_schemas(PAGE.read_text(encoding="utf-8"))
SMALL = ("root", "health", "count_tokens", "input_tokens")


def subclasses(kind):
    """All that derive from it."""
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


@pytest.mark.parametrize("name", MADE)
def test_the_keys_of_each_page_are_exactly_the_documented_ones(name):
    """R012: no key that is not on the documentation's list, none missing, all of their kind."""
    value = msgspec.json.decode(msgspec.json.encode(MADE[name]))
    assert list(find_faults(value, type(MADE[name]).__name__, SCHEMAS)) == []


@pytest.mark.parametrize("name", MADE)
def test_each_page_is_valid_by_its_own_schema(name):
    """A reader with the schema takes every reply, and refuses one with a key too many."""
    kind = type(MADE[name])
    body = msgspec.json.encode(MADE[name])
    assert msgspec.json.encode(msgspec.json.decode(body, type=kind)) == body
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body[:-1] + b',"base_url":""}', type=kind)


def test_one_of_every_reply_was_looked_at():
    """A page that is added must be made here too."""
    shown = {type(page) for page in MADE.values()}
    fixed = {one for name in SMALL for one in REPLIES[name]}
    assert shown == {one for shapes in REPLIES.values() for one in shapes} - fixed
    assert not shown & set(ERRORS.values())


def test_the_checker_sees_what_it_is_for():
    """A key too many, one too few, and a value of another kind are faults."""
    schemas: dict[str, dict[str, str] | str] = {
        "A": {"x": "integer", "y?": "string | null", "z": "[B]", "n": "{name: B}"},
        "B": '"one" | "two"',
    }
    good = {"x": 1, "y": None, "z": ["one"], "n": {"k": "two"}}
    assert list(find_faults(good, "A", schemas)) == []
    for bad in (
        good | {"base_url": ""},
        {key: good[key] for key in ("x", "z")},
        good | {"x": True},
        good | {"x": None},
        good | {"y": 1},
        good | {"z": ["three"]},
        good | {"n": {"k": 1.5}},
    ):
        assert list(find_faults(bad, "A", schemas))


def test_every_projection_has_a_mutant():
    """A module that can show something is tried with a leak."""
    modules = {one.__module__ for one in subclasses(shape.Shape)}
    views = {name for name in modules if name.startswith("anvil_trio.views.")}
    assert views == {mutant.module for mutant in LEAKS.mutants}


@pytest.mark.parametrize("mutant", LEAKS.mutants, ids=lambda mutant: mutant.name)
def test_one_leaked_field_is_found(mutant):
    """R012: a projection that shows one thing more, or one private thing, does not pass."""
    assert kill(LEAKS, mutant, most=1) is not None


def test_the_shipped_projections_pass_the_same_hunt():
    """What kills the mutants is the leak."""
    assert kill(LEAKS, None, most=1) is None
