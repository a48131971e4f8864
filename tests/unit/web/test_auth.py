"""Credentials to principals (decision 11)."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.errors import Code, Problem
from anvil_trio.names import LEGACY_CLIENT, ClientId
from anvil_trio.web.auth import Authenticator, Principal, Scope
from anvil_trio.web.router import ROUTES

CHAT, STATUS = ROUTES["POST", "/v1/chat/completions"], ROUTES["GET", "/v1/router/status"]
AUTH = Authenticator("operator-token")
BEARER = (b"authorization", b"Bearer operator-token")
USE, READ = ClientScope.INFERENCE_USE, ClientScope.WORKLOADS_READ
CLIENTS = (
    ClientCredential(ClientId("desktop"), frozenset({USE}), "desktop-key-0123456789"),
    ClientCredential(ClientId("watcher"), frozenset({READ}), "schl\u00fcssel-0123456789"),
)
SCOPED = Authenticator("operator-token", CLIENTS)
DESKTOP = (b"x-api-key", b"desktop-key-0123456789")
WATCHER = (b"authorization", "Bearer schl\u00fcssel-0123456789".encode())


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
    assert CHAT.is_open_to(who)
    assert STATUS.is_open_to(who)


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
    assert CHAT.is_open_to(who)
    assert not STATUS.is_open_to(who)


@pytest.mark.parametrize(
    ("headers", "client_id", "scopes"),
    [
        ([BEARER], LEGACY_CLIENT, {Scope.OPERATOR}),
        ([DESKTOP], "desktop", {Scope.INFERENCE_USE}),
        (
            [(b"authorization", b"bEARER  desktop-key-0123456789 ")],
            "desktop",
            {Scope.INFERENCE_USE},
        ),
        ([WATCHER], "watcher", {Scope.WORKLOADS_READ}),
        ([DESKTOP, (b"authorization", b"Bearer " + DESKTOP[1])], "desktop", {Scope.INFERENCE_USE}),
        ([DESKTOP, (b"authorization", b"Basic " + BEARER[1])], "desktop", {Scope.INFERENCE_USE}),
    ],
)
def test_a_credential_is_its_client(headers, client_id, scopes):
    """Either header, twice the same one too: the client of the policy with exactly its scopes."""
    assert SCOPED.identify(headers) == Principal(ClientId(client_id), frozenset(scopes))


@pytest.mark.parametrize(
    "headers",
    [
        [BEARER, DESKTOP],
        [WATCHER, DESKTOP],
        [DESKTOP, (b"authorization", b"Bearer wrong")],
        [DESKTOP, (b"authorization", b"Bearer ")],
        [WATCHER, (b"x-api-key", b"wrong")],
        [DESKTOP, (b"x-api-key", b"wrong")],
        [(b"x-api-key", b"desktop-key-012345678")],
        [(b"x-api-key", b"DESKTOP-KEY-0123456789")],
        [(b"x-api-key", b"desktop")],
        [(b"x-api-key", sha256(DESKTOP[1]).digest())],
    ],
)
def test_two_clients_or_one_wrong_of_two_are_a_401(headers):
    """Decision 11: credentials that differ in client, or one that is wrong, make nobody."""
    what = SCOPED.identify(headers)
    assert isinstance(what, Problem)
    assert (what.status, what.code) == (401, Code.AUTHENTICATION)


@pytest.mark.parametrize(
    "name",
    [b"x-client-id", b"x-anvil-client", b"openai-organization", b"x-forwarded-user", b"user-agent"],
)
def test_headers_cannot_choose_the_identity(name):
    """Whatever else a caller says of itself, it is the client of its credential, or nobody."""
    more = [(name, b"_legacy"), (name, BEARER[1]), (name, b"operator-token")]
    who = SCOPED.identify([*more, DESKTOP])
    assert who == SCOPED.identify([DESKTOP])
    assert isinstance(SCOPED.identify(more), Problem)


@given(st.binary(max_size=40))
def test_nothing_but_a_credential_is_known(token):
    """Whatever the bytes, only the three credentials make somebody."""
    known = {b"operator-token", DESKTOP[1], CLIENTS[1].credential.encode()}
    who = SCOPED.identify([(b"x-api-key", token)])
    assert isinstance(who, Principal) == (token.strip() in known)


def test_no_credential_is_kept_only_digests():
    """The look-up's keys are sha256 digests: its timing can tell nothing of a credential."""
    secrets = ["operator-token", *(client.credential for client in CLIENTS)]
    assert set(SCOPED._known) == {sha256(secret.encode()).digest() for secret in secrets}
    assert not any(secret in repr(SCOPED._known) for secret in secrets)


def test_a_client_with_the_operators_token_is_a_bug():
    """The policy's reader refuses it; here it can only be asserted."""
    twin = ClientCredential(ClientId("a"), frozenset({USE}), "operator-token")
    with pytest.raises(AssertionError, match="operator's token"):
        Authenticator("operator-token", [twin])


def test_without_a_token_clients_do_not_count():
    """With authentication off a credential is not looked at: all are one, and may do everything."""
    who = Authenticator(None, CLIENTS).identify([DESKTOP])
    assert who == Principal(LEGACY_CLIENT, frozenset(Scope))


def test_every_scope_of_a_policy_is_a_scope_of_routes_and_never_the_operators():
    """What a policy grants can be asked for; OPERATOR cannot be granted."""
    assert {scope.value for scope in ClientScope} == {scope.value for scope in Scope} - {"operator"}
