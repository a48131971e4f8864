"""The tier that follows from what was measured is one that the loader takes."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.parse import parse_config
from anvil_trio.conform.verdict import Result, failed, not_applicable, passed
from anvil_trio.evals.tier_block import (
    FALLBACK_CONTEXT,
    gather_settings,
    is_usable,
    render_tier,
)
from anvil_trio.names import is_qualification_ref

ROUTES = '[router.model_routes]\n"llm.primary" = "{}"\n\n'
REF = "preflight-" + "0" * 64


def result(name, verdict):
    """One row."""
    return Result(name, "", verdict)


GOOD = [
    result("health", passed("", {"health_path": "/health"})),
    result("identity", passed("", {"model_identity": True, "context_limit": 8192})),
    result("unary", passed("")),
    result("stream", passed("")),
    result("tool_call", passed("", {"tool_support": True})),
    result("metrics", passed("", {"engine": "vllm"})),
    result("keepalive", passed("", {"upstream_keepalive_s": 1.5})),
]


def block(results, **other):
    """The text of a tier."""
    words = {
        "base_url": "http://127.0.0.1:8001/v1",
        "model": "m",
        "dialect": "openai",
        "auth_env": "ENGINE_KEY",
        "qualification_ref": REF,
    }
    return render_tier(results, **{**words, **other})


def loaded(results, **other):
    """The tier as the project's own loader takes it."""
    text = block(results, **other)
    assert text is not None
    id_ = tomllib.loads(text)["router"]["tiers"][0]["id"]
    routes = f'[router.model_routes]\n"llm.primary" = {text.split("id = ")[1].splitlines()[0]}\n\n'
    (tier,) = parse_config((routes + text).encode()).tiers
    assert tier.id == id_
    return tier


def test_everything_measured_is_in_the_tier():
    """As the loader reads it."""
    tier = loaded(GOOD)
    assert (tier.model, tier.base_url, tier.auth_env) == (
        "m",
        "http://127.0.0.1:8001/v1",
        "ENGINE_KEY",
    )
    assert (tier.model_identity, tier.health_path, tier.context_limit) == (True, "/health", 8192)
    assert (tier.tool_support, tier.engine, tier.upstream_keepalive_s) == (True, "vllm", 1.5)


def test_a_tier_of_little_is_still_a_tier():
    """Without a health path nothing asks for the identity; an unknown context is marked as one."""
    tier = loaded([*GOOD[2:4], result("identity", passed(""))], dialect="anthropic")
    assert (tier.model_identity, tier.health_path) == (False, None)
    assert tier.context_limit == FALLBACK_CONTEXT
    assert "put its own context here" in block([*GOOD[2:4], result("identity", passed(""))])
    assert tier.dialect == "anthropic"


def test_the_evidence_is_named_for_a_member():
    """In a comment, because a tier of one engine has no such key."""
    assert f'# qualification_ref = "{REF}"' in block(GOOD)
    assert is_qualification_ref(REF)


@pytest.mark.parametrize("name", ["identity", "unary", "stream"])
@pytest.mark.parametrize("verdict", [failed(""), not_applicable("")])
def test_no_tier_follows_where_one_could_not_work(name, verdict):
    """Whatever else passed."""
    results = [one for one in GOOD if one.name != name]
    assert not is_usable([*results, result(name, verdict)])
    assert block([*results, result(name, verdict)]) is None


@pytest.mark.parametrize(
    ("verdicts", "has_tools"),
    [
        ([], True),
        ([passed("", {"tool_support": True})] * 2, True),
        ([passed("", {"tool_support": True}), failed("", {"tool_support": False})], False),
        ([not_applicable("", {"tool_support": False}), passed("", {"tool_support": True})], False),
        ([passed("", {"tool_support": True}), failed("")], False),
    ],
)
def test_a_tier_has_tools_only_if_every_check_agrees(verdicts, has_tools):
    """Streamed and not, the call and the turn after it."""
    results = [result(f"tool_{n}", verdict) for n, verdict in enumerate(verdicts)]
    assert gather_settings(results)["tool_support"] is has_tools


def test_a_failure_elsewhere_takes_no_tools_away():
    """Only the checks of tools count."""
    assert gather_settings([result("usage", failed(""))])["tool_support"] is True


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=40))
def test_any_models_name_can_be_pasted(model):
    """Quotes, backslashes and what else a name may hold."""
    assert tomllib.loads(block(GOOD, model=model))["router"]["tiers"][0]["model"] == model
