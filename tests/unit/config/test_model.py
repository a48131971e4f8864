"""The values themselves: what they derive, and that each obeys the rule of its key."""

import pytest
from pydantic import BaseModel, ValidationError

from anvil_trio.config import params, tiers
from anvil_trio.config.kinds import INVALID
from anvil_trio.config.model import (
    AudioRoute,
    Compat,
    MediaPolicy,
    PurposeModel,
    ReplicaIdentity,
    ReplicaMember,
    RouterConfig,
    RouterSettings,
    ServerSettings,
    Tier,
    TierSettings,
)
from anvil_trio.config.table import read_table
from anvil_trio.names import DIRECT_MEMBER, LEGACY_CLIENT, ClientId, MemberId, TierId

IDENTITY = ReplicaIdentity(
    model_revision="r",
    engine_version="1",
    image_digest="sha256:" + "0" * 64,
    config_fingerprint="sha256:" + "0" * 64,
)
TABLES: list[type[BaseModel]] = [
    ServerSettings,
    RouterSettings,
    TierSettings,
    ReplicaMember,
    ReplicaIdentity,
    Compat,
    MediaPolicy,
    tiers._TierTable,
    tiers._CompatTable,
    PurposeModel,
    AudioRoute,
    params._Capacity,
    params._Capabilities,
    params._Thinking,
    params._Compat,
    params._Fingerprint,
]
FIELDS = [(model, name, field) for model in TABLES for name, field in model.model_fields.items()]


def member(name: str, ceiling: int | None = None) -> ReplicaMember:
    """A member of that name."""
    return ReplicaMember(
        id=name,
        base_url=f"http://{name}.test/v1",
        host_id="h",
        resource_id=name,
        qualification_ref="q",
        max_concurrency=ceiling,
    )


def replica_tier(*members: ReplicaMember, ceiling: int | None = None) -> Tier:
    """A tier of those members."""
    return Tier(
        id="t",
        auth_env="KEY",
        replicas=members,
        replica_identity=IDENTITY,
        max_concurrency=ceiling,
    )


@pytest.mark.parametrize(
    ("model", "name"),
    [(model, name) for model, name, _ in FIELDS],
    ids=[f"{model.__name__}.{name}" for model, name, _ in FIELDS],
)
def test_no_field_lets_pydantic_speak(model: type[BaseModel], name: str) -> None:
    """A value of no possible type is refused in our own words, for every field of every table."""
    (problem,) = [
        each
        for each in read_table(model, {name: object()}, "t").problems
        if each.path == f"t.{name}"
    ]
    assert problem.message.startswith("must ")
    with pytest.raises(ValidationError) as caught:
        model.model_validate({name: object()})
    found = [error for error in caught.value.errors() if error["loc"] == (name,)]
    assert [error["type"] for error in found] == [INVALID]


def test_a_value_made_in_code_obeys_its_rule_too() -> None:
    """Strict, closed and without the value in the error."""
    with pytest.raises(ValidationError) as caught:
        ServerSettings.model_validate({"auth_env": "canary", "more": "canary"})
    assert "canary" not in str(caught.value)


def test_a_direct_tier_has_one_unnamed_member() -> None:
    """Its endpoint is the tier's; it has no ceiling of its own."""
    tier = Tier(id="t", auth_env="KEY", base_url="http://127.0.0.1:1")
    assert not tier.is_replica
    assert tier.member_ids == (DIRECT_MEMBER,)
    assert tier.member_ceilings == {DIRECT_MEMBER: None}
    assert tier.endpoint_of(DIRECT_MEMBER) == "http://127.0.0.1:1"
    assert tier.ceiling is None
    with pytest.raises(KeyError):
        tier.endpoint_of(MemberId("a"))


def test_a_replica_tier_has_its_members_in_lexical_order() -> None:
    """Each with its endpoint and ceiling; the tier's own empty URL is never given out."""
    tier = replica_tier(member("b"), member("a", 2))
    assert tier.is_replica
    assert tier.member_ids == ("a", "b")
    assert tier.member_ceilings == {"a": 2, "b": None}
    assert tier.endpoint_of(MemberId("b")) == "http://b.test/v1"
    with pytest.raises(KeyError):
        tier.endpoint_of(DIRECT_MEMBER)


def test_a_changed_copy_is_asked_anew() -> None:
    """What was worked out of a tier's values is not taken for a copy that has other ones."""
    tier = replica_tier(member("a"), member("b"))
    assert (tier.is_replica, tier.is_capacity, tier.member_ids) == (True, False, ("a", "b"))
    direct = tier.model_copy(update={"replicas": ()})
    assert (direct.is_replica, direct.member_ids) == (False, (DIRECT_MEMBER,))
    assert tier.model_copy(update={"replica_strategy": "capacity"}).is_capacity
    assert tier == replica_tier(member("a"), member("b"))


@pytest.mark.parametrize(
    ("own", "first", "second", "effective"),
    [(None, 2, 3, 5), (None, 2, None, None), (None, None, None, None), (4, 2, 3, 4), (9, 1, 1, 9)],
)
def test_the_effective_ceiling_is_the_tiers_or_the_members_sum(own, first, second, effective):
    """The sum counts only where every member has a ceiling."""
    tier = replica_tier(member("a", first), member("b", second), ceiling=own)
    assert tier.ceiling == effective


def test_an_alias_resolves_to_one_tier_or_none() -> None:
    """R001: trimmed and in lower case; unknown names resolve to nothing."""
    tier = replica_tier(member("a"), member("b"))
    config = RouterConfig(tiers=(tier,), routes={"llm.primary": TierId("t")})
    assert config.resolve(" LLM.Primary\n") == ("llm.primary", tier)
    assert config.resolve("t") is None
    assert config.tier(TierId("t")) is tier
    with pytest.raises(KeyError):
        config.tier(TierId("other"))


def test_limits_are_by_client() -> None:
    """`client_limits` as the front door takes them."""
    settings = ServerSettings(auth_env="TOKEN", client_limits={"desktop": 2, "_legacy": 1})
    assert settings.budgets == {ClientId("desktop"): 2, LEGACY_CLIENT: 1}
    assert ServerSettings().budgets == {}
