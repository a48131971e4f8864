"""What no topology may be or hold."""

import pytest

from anvil_trio.topology.bounds import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_SCALAR_CHARS,
    find_bound_problems,
)
from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.problems import TopologyError
from tests.unit.topology.toml import topology


def codes(tree):
    """The problems of a tree, as path and code."""
    return [(problem.path, problem.code.value) for problem in find_bound_problems(tree)]


def nested(depth, *, is_list=False):
    """A tree so many levels deep, the outermost included."""
    value: object = [1] if is_list else {"a": 1}
    for _ in range(depth - 2):
        value = [value] if is_list else {"a": value}
    return {"a": value}


def test_the_bounds_are_these():
    """They are promised, so that a topology which is taken once is taken always."""
    assert (MAX_DEPTH, MAX_NODES, MAX_SCALAR_CHARS) == (64, 10_000, 65_536)


@pytest.mark.parametrize("is_list", [False, True])
def test_depth_is_bounded(is_list):
    """64 levels are allowed and 65 are not."""
    assert codes(nested(MAX_DEPTH, is_list=is_list)) == []
    assert codes(nested(MAX_DEPTH + 1, is_list=is_list)) == [("", "depth")]


@pytest.mark.parametrize("empty", [{}, []])
def test_an_empty_table_is_as_deep_as_a_full_one(empty):
    """What stands at level 65 is refused whatever it holds."""
    tree = {"a": empty}
    for _ in range(MAX_DEPTH - 2):
        tree = {"a": tree}
    assert codes(tree) == []
    assert codes({"a": tree}) == [("", "depth")]


def test_the_number_of_values_is_bounded():
    """Tables, arrays and scalars count alike; the document is one."""
    assert codes({"a": [1] * (MAX_NODES - 2)}) == []
    assert codes({"a": [1] * (MAX_NODES - 1)}) == [("", "depth")]


def test_the_length_of_a_text_is_bounded():
    """Of a value and of a key."""
    assert codes({"a": "x " * (MAX_SCALAR_CHARS // 2)}) == []
    assert codes({"a": "x " * (MAX_SCALAR_CHARS // 2) + "x"}) == [("a", "value")]
    assert codes({"x" * MAX_SCALAR_CHARS: 1}) == []
    assert codes({"x" * (MAX_SCALAR_CHARS + 1): 1}) == [("(quoted key)", "value")]


@pytest.mark.parametrize(
    "key",
    [
        *("password", "API_KEY", "apikey", "access-key", "private_key", "client_secret", "token"),
        *("my_credentials", "authorization", "token_value", "token_environment", "clientSecret"),
        *("passwords", "apiKeys_of_x", "aToken", "env_token", "SECRET2", "accesskey"),
    ],
)
def test_a_key_that_secrets_have_is_refused(key):
    """Wherever it stands, and whatever it holds."""
    assert codes({"a": [{key: 1}]}) == [(f"a[0].{key}", "credential")]


@pytest.mark.parametrize(
    "key",
    [
        *("auth_env", "token_env", "tokens_per_second", "host_key_fingerprint", "keyboard"),
        *("apiKeyEnv", "secretary", "key", "private", "2", "key_api"),
    ],
)
def test_a_key_that_only_names_a_variable_is_none(key):
    """Nor is one in which such a word is part of another."""
    assert codes({key: "x"}) == []


@pytest.mark.parametrize(
    "value",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "AKIA" + "A" * 16,
        "see ghp_" + "a" * 36,
        "sk-" + "a1" * 16,
        "sk-ant-api03-" + "a1" * 16,
        "hf_" + "a" * 20,
        "Bearer abcdefgh",
        "authorization: bearer  abcdefgh",
        "http://a.test/?k=sk-ant-" + "a1" * 8,
        "x=xoxb-1-" + "a" * 16,
    ],
)
def test_a_value_that_looks_like_a_secret_is_refused(value):
    """Also among a host's roles, which are texts."""
    assert codes({"a": ["b", value]}) == [("a[1]", "credential")]


@pytest.mark.parametrize(
    "value",
    [
        *("sk-1", "desk-top", "Bearer", "hf", "AKIAHOST", "resource-a", "Bearer abcdefg"),
        *("sk-" + "-".join(["a" * 15] * 3), "risk-" + "a" * 30, "-----BEGIN PUBLIC KEY-----"),
        *("a private key", "PRIVATE KEY", "hf_" + "a" * 15),
    ],
)
def test_a_value_that_only_begins_like_one_is_none(value):
    """Short words stay usable as names."""
    assert codes({"a": value}) == []


def test_bounds_hold_for_each_file_and_for_both_together():
    """Two halves that are within the bounds are refused when what they make is not."""
    half = b"[[hosts]]\nid = %s\nroles = [" + b'"a", ' * (MAX_NODES // 2) + b"]"
    base = b'schema_version = 1\nid = "a"\n' + half.replace(b"%s", b'"one"')
    overlay = half.replace(b"%s", b'"two"')
    for data in ((base + b"\n" + overlay,), (base, overlay)):
        with pytest.raises(TopologyError) as caught:
            parse_topology(*data)
        assert [problem.code.value for problem in caught.value.problems] == ["depth"]


def test_a_secret_is_told_before_the_shape():
    """Of a topology that holds one nothing else is said."""
    with pytest.raises(TopologyError) as caught:
        parse_topology(topology('password = "x"', "more = 1"))
    assert [problem.path for problem in caught.value.problems] == ["password"]
