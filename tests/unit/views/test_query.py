"""What a page is asked for: every parameter of every page, and nothing else."""

import pytest

from anvil_trio.errors import Code, Problem
from anvil_trio.views.query import PARAMETERS, Kind, Values, check_no_query, parse_query
from tests.unit.views.samples import canary, config

BAD = canary("query")
BY_MODEL = [page for page, table in PARAMETERS.items() if any(p.name == "model" for p in table)]
GOOD = {
    Kind.ALIAS: ["chat", "%20CHAT%20"],
    Kind.FLAG: ["0", "1"],
    Kind.BOOLEAN: ["true", "false"],
    Kind.CORRELATION: ["s-1", "A" * 128],
    Kind.NAME: ["router", "A-1_b"],
    Kind.GPU_ROLE: ["primary", "a-1_b"],
}
WRONG = {
    Kind.NUMBER: ["", "-1", "+1", "1.0", "1e3", "x", "%20", "9" * 13, "%D9%A3"],
    Kind.FLAG: ["", "2", "true", "01"],
    Kind.BOOLEAN: ["", "1", "True", "yes"],
    Kind.CORRELATION: ["", "a%20b", "-a", "A" * 129, "a%0A"],
    Kind.NAME: ["", "1a", "a.b", "a%0A"],
    Kind.GPU_ROLE: ["", "A", "1", "a.b"],
    Kind.WORD: ["", "nowhere", "Queued"],
}
CELLS = [(page, one) for page, table in PARAMETERS.items() for one in table]


def shown(what: object) -> tuple[int, Code, str, str | None]:
    """What a caller gets to see of a problem."""
    assert isinstance(what, Problem)
    return what.status, what.code, what.message, what.param


def asked(page: str, query: bytes) -> Values:
    """A query that is one."""
    values = parse_query(page, query, config())
    assert isinstance(values, Values), values
    return values


@pytest.mark.parametrize("page", PARAMETERS)
def test_no_query_asks_for_everything(page):
    """Without parameters nothing is filtered."""
    values = asked(page, b"")
    assert (values.only, values.text("session_id"), values.flag("active")) == (None, None, False)


@pytest.mark.parametrize(("page", "one"), CELLS)
def test_every_parameter_takes_its_values(page, one):
    """Each parameter of each page is read as what it is, at its bounds too."""
    texts = GOOD.get(one.kind) or list(one.words) or [str(one.least), str(one.most)]
    for text in texts:
        values = asked(page, f"{one.name}={text}".encode())
        if one.kind is Kind.NUMBER:
            assert values.number(one.name) == int(text)
        elif one.kind in {Kind.FLAG, Kind.BOOLEAN}:
            assert values.flag(one.name) is (text in {"1", "true"})
        else:
            assert values.text(one.name) == ("chat" if one.kind is Kind.ALIAS else text)


@pytest.mark.parametrize(("page", "one"), CELLS)
def test_every_parameter_refuses_the_rest(page, one):
    """A value of another kind, or beyond a bound, is a 400 that names the parameter alone."""
    beyond = [str(one.least - 1), str(one.most + 1)] if one.kind is Kind.NUMBER else []
    for text in WRONG.get(one.kind, []) + beyond:
        what = shown(parse_query(page, f"{one.name}={text}".encode(), config()))
        assert what[:2] == (400, Code.INVALID_REQUEST)
        assert what[3] == one.name


@pytest.mark.parametrize(("page", "one"), CELLS)
def test_no_parameter_comes_twice(page, one):
    """Two values, equal or not, are ambiguous (unless it is an SDK's paging)."""
    text = (GOOD.get(one.kind) or one.words or [str(one.most)])[0]
    query = f"{one.name}={text}&{one.name}={text}".encode()
    assert shown(parse_query(page, query, config())) == (
        400,
        Code.INVALID_REQUEST,
        "The query may have each parameter once.",
        one.name,
    )


def test_what_is_usual_stands_in_for_nothing():
    """A page with a usual limit has it without being asked."""
    assert [asked(page, b"").limit for page in ("stats", "decisions", "workloads")] == [
        100,
        20,
        100,
    ]
    assert asked("requests", b"").number("limit") is None


@pytest.mark.parametrize("page", BY_MODEL)
def test_a_model_is_named_as_in_a_request(page):
    """R001: the name is trimmed and lower-cased, as everywhere."""
    assert asked(page, b"model=%20LLM.Primary%20").only == "llm.primary"


@pytest.mark.parametrize("page", BY_MODEL)
@pytest.mark.parametrize("name", [BAD, "", "llm.secondary"])
def test_an_unknown_alias_is_a_404_that_does_not_repeat_it(page, name):
    """The answer is the same fixed text for every unknown name."""
    what = shown(parse_query(page, f"model={name}".encode(), config()))
    assert what[:2] == (404, Code.MODEL_NOT_FOUND)
    assert what[3] == "model"
    assert BAD not in what[2]


@pytest.mark.parametrize("page", [*PARAMETERS, "status", "request", "health_tiers", "openapi"])
def test_an_unknown_parameter_is_a_400_that_does_not_repeat_it(page):
    """Decision 27: what a page does not take is refused; a page without a table takes nothing."""
    for query in (f"{BAD}=1", f"x={BAD}", "Model=chat", "models=chat"):
        what = shown(parse_query(page, query.encode(), config()))
        assert what[:2] == (400, Code.INVALID_REQUEST)
        assert BAD not in what[2]
        assert what[3] is None


@pytest.mark.parametrize(
    "query",
    [b"limit=20", b"after=x&before=y&order=asc", b"after_id=x&before_id=y", b"limit=a&limit=b"],
)
def test_the_sdks_paging_is_ignored_on_the_model_list_only(query):
    """What the vendors' SDKs send to page is accepted where they send it."""
    assert asked("models", query).only is None
    assert shown(parse_query("capacity", query, config()))[0] == 400


def test_paging_does_not_hide_a_filter():
    """A filter beside paging still filters."""
    assert asked("models", b"limit=1&model=chat").only == "chat"


@pytest.mark.parametrize("page", PARAMETERS)
@pytest.mark.parametrize("query", [b"model", b"model=%ff", b"model=\xff", b"&", b"model=chat&&"])
def test_a_query_that_cannot_be_read_is_refused(page, query):
    """Neither a bare word nor bytes that are no UTF-8 are guessed at."""
    assert shown(parse_query(page, query, config()))[:2] == (400, Code.INVALID_REQUEST)


def test_a_page_without_parameters_takes_none():
    """Any parameter of a page without parameters is a 400."""
    assert check_no_query(b"") is None
    for query in (b"model=chat", b"limit=1", b"x"):
        assert shown(check_no_query(query))[0] == 400
