import pytest

from anvil_trio.errors import Code, Problem
from anvil_trio.names import Alias
from anvil_trio.views.query import (
    ModelQuery,
    check_no_query,
    parse_capacity_query,
    parse_models_query,
)
from tests.unit.views.samples import canary, config

PARSERS = [parse_models_query, parse_capacity_query]
BAD = canary("query")


def shown(what: object) -> tuple[int, Code, str, str | None]:
    """What a caller gets to see of a problem."""
    assert isinstance(what, Problem)
    return what.status, what.code, what.message, what.param


@pytest.mark.parametrize("parse", PARSERS)
def test_no_query_asks_for_everything(parse):
    """Without parameters nothing is filtered."""
    assert parse(b"", config()) == ModelQuery()


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("query", [b"model=chat", b"model=%20CHAT+", b"model=Ch%61t"])
def test_a_configured_alias_is_asked_for_as_in_a_request(parse, query):
    """R001: the filter reads an alias as a chat request does, trimmed and in any case."""
    assert parse(query, config()) == ModelQuery(Alias("chat"))


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("query", [f"model={BAD}".encode(), b"model="])
def test_an_unknown_alias_is_not_found(parse, query):
    """An alias that is not configured is the same 404 as for a request; its text is not shown."""
    status, code, message, param = shown(parse(query, config()))
    assert (status, code, param) == (404, Code.MODEL_NOT_FOUND, "model")
    assert BAD not in message


@pytest.mark.parametrize("parse", PARSERS)
def test_a_repeated_model_is_refused(parse):
    """Two filters are no filter."""
    status, code, _, param = shown(parse(b"model=chat&model=chat", config()))
    assert (status, code, param) == (400, Code.INVALID_REQUEST, "model")


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("query", [f"{BAD}=1".encode(), b"model=chat&images=1", b"Model=chat"])
def test_any_other_parameter_is_refused(parse, query):
    """An unknown parameter is a 400 that does not repeat it."""
    status, code, message, param = shown(parse(query, config()))
    assert (status, code, param) == (400, Code.INVALID_REQUEST, None)
    assert BAD not in message


@pytest.mark.parametrize(
    "query",
    [b"limit=20", b"after=x&before=y&order=asc", b"after_id=x&before_id=y", b"limit=a&limit=b"],
)
def test_the_sdks_paging_is_ignored_on_the_model_list_only(query):
    """What the vendors' SDKs send to page is accepted where they send it."""
    assert parse_models_query(query, config()) == ModelQuery()
    assert shown(parse_capacity_query(query, config()))[0] == 400


def test_paging_does_not_hide_a_filter():
    """A filter beside paging still filters."""
    assert parse_models_query(b"limit=1&model=chat", config()) == ModelQuery(Alias("chat"))


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("query", [b"model", b"model=%ff", b"model=\xff", b"&", b"model=chat&&"])
def test_a_query_that_cannot_be_read_is_refused(parse, query):
    """Neither a bare word nor bytes that are no UTF-8 are guessed at."""
    assert shown(parse(query, config()))[:2] == (400, Code.INVALID_REQUEST)


def test_the_status_page_takes_no_parameter():
    """Any parameter of a page without parameters is a 400."""
    assert check_no_query(b"") is None
    for query in (b"model=chat", b"limit=1", b"x"):
        assert shown(check_no_query(query))[0] == 400
