import pytest

from anvil_trio.errors import Code, Problem
from anvil_trio.names import Alias
from anvil_trio.views.metrics_query import MetricsQuery, parse_metrics_query
from tests.unit.views.samples import REPLICA, canary, config

BAD = canary("query")


def test_no_query_asks_for_everything():
    """All aliases, and all records that are kept."""
    assert parse_metrics_query(b"", config()) == MetricsQuery(None, 10_000)


@pytest.mark.parametrize("query", [b"model=LLM.Primary&limit=7", b"limit=7&model=llm.primary%20"])
def test_a_model_and_a_limit(query):
    """An alias is read as in a request and shown with its tier; the order does not matter."""
    wanted = parse_metrics_query(query, config())
    assert wanted == MetricsQuery((Alias("llm.primary"), REPLICA), 7)


@pytest.mark.parametrize(("text", "limit"), [("1", 1), ("10000", 10_000), ("007", 7)])
def test_a_limit_from_one_to_all(text, limit):
    """Both ends are within."""
    assert parse_metrics_query(f"limit={text}".encode(), config()) == MetricsQuery(None, limit)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=10001",
        "limit=",
        "limit=-1",
        "limit=1.0",
        "limit=1&limit=1",
        "limit=%D9%A1",
    ],
)
def test_any_other_limit_is_refused(query):
    """One number in plain digits, or a 400 that names the parameter."""
    told = parse_metrics_query(query.encode(), config())
    assert isinstance(told, Problem)
    assert (told.status, told.code, told.param) == (400, Code.INVALID_REQUEST, "limit")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (f"model={BAD}", 404),
        ("model=chat&model=chat", 400),
        (f"{BAD}=1", 400),
        (f"limit={BAD}", 400),
        ("limit", 400),
    ],
)
def test_what_cannot_be_answered_is_not_repeated(query, status):
    """An unknown alias is a 404, anything else a 400, and neither holds what was asked."""
    told = parse_metrics_query(query.encode(), config())
    assert isinstance(told, Problem)
    assert told.status == status
    assert BAD not in told.message
