"""The authorization policy, version 1: each rule with a policy that breaks it."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.policy import (
    MAX_POLICY_BYTES,
    ClientCredential,
    ClientScope,
    PolicyClient,
    parse_policy,
)
from anvil_trio.config.problems import ConfigError
from anvil_trio.names import ClientId
from tests.unit.config.policy_text import client, in_file, policy

AT = "server.authorization_policy_path"
ROW = f"{AT}.clients[0]"
USE, READ = ClientScope.INFERENCE_USE, ClientScope.WORKLOADS_READ
NO_JSON = f"{AT}: must name a JSON file in UTF-8, without a key twice in one object"
SCOPES = (
    f"{ROW}.scopes: must be an array of different scopes, at least one, out of:"
    " inference:use, workloads:read"
)
FILE = (
    f"{ROW}.credential_file: must be an absolute path without :// and control characters,"
    " of at most 512 characters"
)
ENV = f"{ROW}.credential_env: must match [A-Za-z_][A-Za-z0-9_]{{0,255}}"
ID = f"{ROW}.id: must match [A-Za-z][A-Za-z0-9_-]{{0,63}}"
ONE = f"{ROW}: must have exactly one of credential_env and credential_file"


def told(data: bytes) -> str:
    """The whole message about a policy that is refused."""
    with pytest.raises(ConfigError) as caught:
        parse_policy(data)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_a_policy_is_its_clients_in_order() -> None:
    """Ids, scopes, and for each the one place where its credential is kept."""
    both = client(scopes=["workloads:read", "inference:use"])
    assert parse_policy(policy(both, in_file("/run/keys/b", "b-2"))) == (
        PolicyClient(ClientId("desktop"), frozenset({USE, READ}), "DESKTOP_KEY", None),
        PolicyClient(ClientId("b-2"), frozenset({USE}), None, "/run/keys/b"),
    )


def test_a_policy_may_have_no_client_and_at_most_32() -> None:
    """Nobody but the operator, or 32 clients; 33 are refused."""
    assert parse_policy(policy()) == ()
    many = [client(f"c{number}") for number in range(33)]
    assert len(parse_policy(policy(*many[:32]))) == 32
    assert told(policy(*many)) == f"{AT}.clients: must be an array of at most 32 objects"


def test_a_policy_is_at_most_64_kib() -> None:
    """Exactly 65536 bytes are read, one more is refused unread."""
    text = policy(client())
    assert parse_policy(text + b" " * (MAX_POLICY_BYTES - len(text)))
    assert told(text + b" " * (MAX_POLICY_BYTES + 1 - len(text))) == (
        f"{AT}: must name a file of at most 65536 bytes"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"canary",
        b"\xff",
        b"\xef\xbb\xbf" + policy(),
        policy() + b"canary",
        b'{"schema_version": 1, "clients": [], "clients": []}',
        policy(client()).replace(b'"id"', b'"id": "canary", "id"'),
        policy(schema_version=float("nan")),
        b"[" * 60_000,
        b"1" * 5_000,
    ],
)
def test_what_is_no_json_is_refused_in_one_sentence(data: bytes) -> None:
    """Not UTF-8, not JSON, a key twice at any depth, too deep: one fixed text, no quote."""
    assert told(data) == NO_JSON


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", f"{AT}: must be an object"),
        (b"null", f"{AT}: must be an object"),
        (policy(schema_version=None), f"{AT}.schema_version: is required"),
        (policy(schema_version=2), f"{AT}.schema_version: must be 1"),
        (policy(schema_version=True), f"{AT}.schema_version: must be 1"),
        (policy(schema_version=1.0), f"{AT}.schema_version: must be 1"),
        (policy(schema_version="1"), f"{AT}.schema_version: must be 1"),
        (b'{"schema_version": 1}', f"{AT}.clients: is required"),
        (policy(clients={}), f"{AT}.clients: must be an array of at most 32 objects"),
        (policy(canary=1), f"{AT}: must have no key but schema_version, clients"),
        (policy("canary"), f"{ROW}: must be an object"),
        (policy({}), f"{ONE}\n{ROW}.id: is required\n{ROW}.scopes: is required"),
        (
            policy(client(canary="canary")),
            f"{ROW}: must have no key but id, scopes, credential_env, credential_file",
        ),
        (policy(client("_legacy")), ID),
        (policy(client(id="canary\n")), ID),
        (policy(client(id=7)), ID),
        (policy(client(scopes=[])), SCOPES),
        (policy(client(scopes=["inference:use", "inference:use"])), SCOPES),
        (policy(client(scopes=["operator"])), SCOPES),
        (policy(client(scopes=["node-admin:bootstrap"])), SCOPES),
        (policy(client(scopes="inference:use")), SCOPES),
        (policy(client(scopes=[None])), SCOPES),
        (policy(client(credential_env=None)), ONE),
        (policy(client(credential_file="/a")), ONE),
        (policy(client(credential_env="7KEY")), ENV),
        (policy(client(credential_env="K" * 257)), ENV),
        (policy(client(credential_env="KEY\n")), ENV),
        (policy(in_file("keys/canary")), FILE),
        (policy(in_file("~/canary")), FILE),
        (policy(in_file("")), FILE),
        (policy(in_file("/a\u0000")), FILE),
        (policy(in_file("/http://canary")), FILE),
        (policy(in_file("/" + "a" * 512)), FILE),
        (
            policy(client()).replace(b'"DESKTOP_KEY"', b"null"),
            ENV,
        ),
    ],
)
def test_each_rule_is_told_by_its_place(data: bytes, message: str) -> None:
    """The whole message is the key path and the rule; no value and no strange key is in it."""
    assert told(data) == message
    assert "canary" not in message


def test_ids_and_references_are_unique() -> None:
    """Two clients share neither a name nor the place of their credential."""
    twins = policy(
        client("a", credential_env="KEY"),
        client("a", credential_env="KEY"),
        in_file("/k", "b"),
        in_file("/k", "c"),
    )
    assert told(twins).splitlines() == [
        f"{AT}.clients[1].credential_env: must be unique in the policy",
        f"{AT}.clients[1].id: must be unique in the policy",
        f"{AT}.clients[3].credential_file: must be unique in the policy",
    ]


def test_all_problems_are_told_together() -> None:
    """One bad client hides no other."""
    data = policy(client("a", scopes=[]), client("b", id=""), schema_version=2)
    assert len(told(data).splitlines()) == 3


def test_no_repr_shows_where_a_credential_is_or_what_it_is() -> None:
    """R012: the values of this module can be logged by mistake."""
    (found,) = parse_policy(policy(in_file("/canary")))
    held = ClientCredential(found.client_id, found.scopes, "canary")
    assert "canary" not in repr((found, held))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NEARLY = st.fixed_dictionaries(
    {"schema_version": st.just(1) | JSON, "clients": JSON},
    optional={"more": JSON},
) | st.fixed_dictionaries({
    "schema_version": st.just(1),
    "clients": st.lists(
        st.dictionaries(
            st.sampled_from(["id", "scopes", "credential_env", "credential_file"]), JSON
        )
    ),
})


@given(st.binary(max_size=60) | NEARLY.map(lambda root: json.dumps(root).encode()))
def test_whatever_the_bytes_only_a_config_error_is_raised(data: bytes) -> None:
    """A policy is clients or one ConfigError."""
    with suppress(ConfigError):
        parse_policy(data)
