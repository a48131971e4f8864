import pytest

from anvil_trio.decisions.span_answer import refused_spans
from anvil_trio.facts import Answer, Silence


@pytest.mark.parametrize(
    "said", [*Silence, *(Answer(code, b"{}") for code in (100, 199, 300, 307, 400, 429, 503))]
)
def test_anything_but_a_2xx_has_taken_nothing(said):
    """A redirect is not followed and no success; a silence is none either."""
    assert refused_spans(said, 16) is None


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"{}",
        b"null",
        b"<html>",
        b'{"partialSuccess":null}',
        b'{"partialSuccess":{}}',
        b'{"partialSuccess":{"errorMessage":"x"}}',
        b'{"partialSuccess":{"rejectedSpans":"many"}}',
        b'{"partialSuccess":{"rejectedSpans":-3}}',
        b'{"x":' + b"[" * 60_000,
        b'{"partialSuccess":{"x":' + b'{"x":' * 9_000,
    ],
)
@pytest.mark.parametrize("status", [200, 202, 299])
def test_a_2xx_has_taken_all_unless_it_says_otherwise(body, status):
    """A body that is absent, odd or unreadable refuses nothing."""
    assert refused_spans(Answer(status, body), 16) == 0


@pytest.mark.parametrize(("number", "refused"), [("5", 5), ('"5"', 5), ("16", 16), ("99", 16)])
def test_a_collector_may_refuse_some(number, refused):
    """As a number or as text, and never more than were sent."""
    body = f'{{"partialSuccess":{{"rejectedSpans":{number},"errorMessage":"no"}}}}'.encode()
    assert refused_spans(Answer(200, body), 16) == refused
