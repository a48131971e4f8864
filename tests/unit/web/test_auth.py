"""Credentials to principals (decision 11)."""

import pytest

from anvil_trio.errors import Code, Problem
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.web.auth import Authenticator, Principal, Scope

AUTH = Authenticator("operator-token")
BEARER = (b"authorization", b"Bearer operator-token")


@pytest.mark.parametrize(
    "headers",
    [
        [BEARER],
        [(b"authorization", b"bearer operator-token")],
        [(b"authorization", b"  BEARER   operator-token  ")],
        [(b"x-api-key", b" operator-token ")],
        [BEARER, (b"x-api-key", b"operator-token")],
        [(b"authorization", b"Basic abc"), (b"x-api-key", b"operator-token")],
    ],
)
def test_the_operator_token_is_taken(headers):
    """Scheme case, blanks and a second equal credential do not matter; Basic is ignored."""
    who = AUTH.identify(headers)
    assert isinstance(who, Principal)
    assert who.client_id == LEGACY_CLIENT
    assert who.may(Scope.INFERENCE_USE)
    assert who.may(Scope.OPERATOR)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"Bearer wrong")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer ")],
        [(b"x-api-key", b"")],
        [(b"authorization", b"Basic operator-token")],
        [BEARER, (b"x-api-key", b"wrong")],
        [(b"authorization", b"Bearer wrong"), (b"x-api-key", b"operator-token")],
        [(b"x-anvil-client", b"operator-token")],
        [(b"authorization", b"Bearer operator-token\xff")],
    ],
)
def test_anything_else_is_a_401(headers):
    """No credential, a wrong one, or one wrong of two: 401 with fixed words."""
    what = AUTH.identify(headers)
    assert isinstance(what, Problem)
    assert (what.status, what.code) == (401, Code.AUTHENTICATION)


def test_without_a_token_everyone_is_the_operator():
    """With authentication off there is nothing to show."""
    assert isinstance(Authenticator(None).identify([]), Principal)


def test_a_scoped_principal_may_only_what_it_was_given():
    """`inference:use` grants no operator route."""
    who = Principal(LEGACY_CLIENT, frozenset({Scope.INFERENCE_USE}))
    assert who.may(Scope.INFERENCE_USE)
    assert not who.may(Scope.OPERATOR)
