"""What a close code means to the other side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.errors import Code, problem
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.realtime.closes import (
    Close,
    Side,
    close_for,
    code_for_engine,
    parting_of_client,
    parting_of_engine,
)

FORBIDDEN = {1004, 1005, 1006, 1015, *range(1000), *range(1016, 3000)}
"""What RFC 6455 lets nobody send."""


@given(st.integers(0, 6000))
def test_no_reserved_code_is_ever_handed_on(code):
    """Whatever one side said, the other is told a code that may be sent."""
    for close in (
        Close(code_for_engine(code)),
        parting_of_client(code).close,
        parting_of_engine(code).close,
    ):
        assert close.code not in FORBIDDEN
        assert 1000 <= close.code < 5000


@pytest.mark.parametrize(
    ("code", "told"),
    [
        *((code, code) for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011)),
        *((code, code) for code in (1012, 1013, 1014, 3000, 4999)),
        (1005, 1000),
        *((code, 1001) for code in (1004, 1006, 1015, 1016, 2999, 999, 5000)),
    ],
)
def test_an_engine_is_told_the_clients_code(code, told):
    """As it is, where it may be sent; no code is a normal close, a reserved one going away."""
    assert code_for_engine(code) == told


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        *((code, Outcome.SERVED) for code in (1000, 1001, 1005, 3000, 4999)),
        *((code, Outcome.CLIENT_DISCONNECTED) for code in (1002, 1003, 1006, 1008, 1011)),
    ],
)
def test_a_client_ends_its_session_when_it_likes(code, outcome):
    """Its close is a success unless it says that something was wrong."""
    parting = parting_of_client(code)
    assert (parting.by, parting.outcome, parting.problem) == (Side.CLIENT, outcome, None)


@pytest.mark.parametrize(
    ("code", "outcome", "told", "is_told_why"),
    [
        (1000, Outcome.SERVED, 1000, False),
        (1005, Outcome.SERVED, 1000, False),
        (3000, Outcome.SERVED, 3000, False),
        (4999, Outcome.SERVED, 4999, False),
        *((code, Outcome.BACKEND_ERROR, code, True) for code in (1003, 1007, 1008, 1009)),
        *((code, Outcome.BACKEND_ERROR, 1011, True) for code in (1001, 1002, 1006, 1011, 1012)),
        (2999, Outcome.BACKEND_ERROR, 1011, True),
        (5000, Outcome.BACKEND_ERROR, 1011, True),
    ],
)
def test_an_engines_close_is_judged(code, outcome, told, is_told_why):
    """A normal or private one is a success; a refusal keeps its code; a failure is 1011."""
    parting = parting_of_engine(code)
    assert (parting.by, parting.outcome, parting.close.code) == (Side.ENGINE, outcome, told)
    assert (parting.problem is not None) == is_told_why
    assert bool(parting.close.reason) == is_told_why


def test_our_own_ends_have_a_code_and_a_word():
    """A stop of the router is "going away"; whatever else ends a session is an error."""
    assert close_for(problem(Code.SHUTTING_DOWN)) == Close(1001, "shutting_down")
    assert close_for(problem(Code.REQUEST_TIMEOUT)) == Close(1011, "request_timeout")
    assert close_for(problem(Code.UPSTREAM_ERROR)) == Close(1011, "upstream_error")


def test_the_other_side():
    """There are two."""
    assert Side.CLIENT.other is Side.ENGINE
    assert Side.ENGINE.other is Side.CLIENT
