"""From bytes to one frozen configuration, or to all that is wrong with them."""

import hashlib
import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.model import (
    Compat,
    MediaPolicy,
    ReplicaMember,
    RouterConfig,
    RouterSettings,
    ServerSettings,
    Tier,
    TierDialect,
)
from anvil_trio.config.params import read_params
from anvil_trio.config.parse import ConfigError, parse_config
from anvil_trio.config.table import read_table
from tests.unit.config.toml import (
    DIRECT,
    IDENTITY,
    MEMBER_A,
    MEMBER_B,
    REPLICA,
    config,
    direct,
    inline,
    replica,
)

ROUTER_KEYS = ("tiers", "model_routes", "purpose_models", "audio_routes", "audio_max_concurrency")
TIER_KEYS = [*Tier.model_fields, "strip_reasoning_history"]
CANARIES = [
    '"sk-canary-7"',
    '["sk-canary-7"]',
    '{ sk = "sk-canary-7" }',
    '[{ id = "sk-canary-7" }]',
]


def parsed(text: str) -> RouterConfig:
    """The configuration in a file."""
    return parse_config(text.encode())


def told(data: bytes) -> str:
    """The whole message about a file; empty if it loads."""
    try:
        parse_config(data)
    except ConfigError as error:
        return str(error)
    return ""


def as_toml(value: object) -> str:
    """Any tree in TOML, in one line."""
    if isinstance(value, Mapping):
        pairs = (f"{as_toml(key)} = {as_toml(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()


def test_a_file_becomes_a_configuration_with_its_bytes_and_digest() -> None:
    """R004: exactly these bytes, and their sha256."""
    data = config().encode()
    loaded = parse_config(data)
    assert loaded.source is data
    assert loaded.sha256 == hashlib.sha256(data).hexdigest()
    assert "http" not in repr(loaded)
    assert "ENGINE_KEY" not in repr(loaded)


def test_what_a_file_leaves_out_has_its_default() -> None:
    """A direct tier with the least keys."""
    loaded = parsed(config())
    assert loaded.server == ServerSettings()
    assert loaded.router == RouterSettings()
    assert loaded.tiers == (
        Tier(
            id="primary",
            base_url="http://127.0.0.1:8001/v1",
            auth_env="ENGINE_KEY",
            context_limit=8192,
        ),
    )
    assert loaded.routes == {"llm.primary": "primary"}
    tier = loaded.tiers[0]
    assert tier.dialect is TierDialect.OPENAI
    assert (tier.compat, tier.media_policy, tier.ceiling) == (Compat(), None, None)


def test_shutting_down_may_take_as_long_as_a_request() -> None:
    """shutdown_timeout_s is total_timeout_s, unless the file says otherwise."""
    assert parsed(config()).server.shutdown_timeout_s == 900
    total = ["total_timeout_s = 30"]
    assert parsed(config(server=total)).server.shutdown_timeout_s == 30
    both = [*total, "shutdown_timeout_s = 5"]
    assert parsed(config(server=both)).server.shutdown_timeout_s == 5


def test_a_replica_tier_has_its_members_and_their_identity() -> None:
    """R002, R003, R005: in the order of the file; the tier itself has no endpoint."""
    last = {**MEMBER_A, "max_concurrency": "3"}
    (tier,) = parsed(config(replica(MEMBER_B, last))).tiers
    assert tier.base_url == ""
    assert tier.replicas == (
        ReplicaMember(
            id="member-b",
            base_url="http://127.0.0.1:8002/v1",
            host_id="host-one",
            resource_id="resource-b",
            qualification_ref="qual:2026-b",
        ),
        ReplicaMember(
            id="member-a",
            base_url="http://127.0.0.1:8001/v1",
            host_id="host-one",
            resource_id="resource-a",
            qualification_ref="qual:2026-a",
            max_concurrency=3,
        ),
    )
    assert tier.replica_identity is not None
    declared = {key: json.dumps(value) for key, value in tier.replica_identity.model_dump().items()}
    assert declared == IDENTITY


def test_member_ids_of_two_tiers_may_be_equal() -> None:
    """Ids, resources and endpoints are unique in their tier only."""
    second = replica(id='"second"')
    loaded = parsed(config(REPLICA, second, routes="{ a = 'primary', b = 'second' }"))
    assert loaded.tiers[0].member_ids == loaded.tiers[1].member_ids == ("member-a", "member-b")


def test_routes_keep_the_order_of_the_file() -> None:
    """R001: dotted and quoted aliases alike, normalised."""
    text = """{ z = "primary", " Fast.ONE" = "primary", llm.b = "primary", llm.a.x = "primary" }"""
    routes = parsed(config(routes=text)).routes
    assert list(routes) == ["z", "fast.one", "llm.b", "llm.a.x"]
    headers = config(routes="{}").replace("model_routes = {}", "")
    headers += '[router.model_routes]\nllm.primary = "primary"\n[router.model_routes.llm.more]\n'
    assert list(parsed(headers + 'x = "primary"').routes) == ["llm.primary", "llm.more.x"]


def test_a_complete_media_policy_becomes_a_value() -> None:
    """The params stay as they are, for the views."""
    facts = inline({
        "media_admission_enabled": "true",
        "image_limit": "2",
        "video_limit": "0",
        "image_tokens_estimate": "1024",
        "video_tokens_estimate": "1",
        "gpu_role": '"big"',
    })
    modalities = "capabilities = { modalities = ['text', 'image'] }"
    (tier,) = parsed(config(direct(params=f"{{ capacity = {facts}, {modalities} }}"))).tiers
    assert tier.media_policy == MediaPolicy(
        image_limit=2, video_limit=0, image_tokens_estimate=1024, video_tokens_estimate=1
    )
    assert tier.params["capabilities"] == {"modalities": ["text", "image"]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "drop"),
        ({"strip_reasoning_history": "true"}, "drop"),
        ({"strip_reasoning_history": "false"}, "as_sent"),
        ({"compat": '{ reasoning_history = "reasoning" }'}, "reasoning"),
        ({"compat": '{ prefill = "refuse" }', "strip_reasoning_history": "false"}, "as_sent"),
    ],
)
def test_the_old_spelling_of_reasoning_history_means_the_new_one(changes, expected) -> None:
    """strip_reasoning_history true drops, false leaves as sent; compat is the new spelling."""
    (tier,) = parsed(config(direct(**changes))).tiers
    assert tier.compat.reasoning_history == expected
    assert (tier.compat.prefill == "refuse") is ("prefill" in changes.get("compat", ""))


def test_what_was_read_cannot_be_changed() -> None:
    """Settings, routes and the tables of a tier are read-only."""
    tier = direct(extra_body="{ a = 1 }", extra_body_defaults="{ b = 2 }", params="{ c = 3 }")
    loaded = parsed(config(tier))
    with pytest.raises(ValueError, match="frozen"):
        loaded.server.max_concurrency = 2  # type: ignore[misc]
    tables = (
        loaded.routes,
        loaded.server.client_limits,
        loaded.tiers[0].extra_body,
        loaded.tiers[0].extra_body_defaults,
        loaded.tiers[0].params,
    )
    for table in tables:
        with pytest.raises(TypeError):
            table["new"] = 1  # type: ignore[index]


def test_all_problems_of_a_file_are_told_together_and_in_order() -> None:
    """One bad value hides nothing else, in its own table or in another."""
    bad_member = {**MEMBER_B, "id": '"member-a"', "base_url": '"ftp://127.0.0.1"', "port": "1"}
    text = config(
        replica(MEMBER_A, bad_member, timeout="-1"),
        direct(id='"second"', context_limit=None, mood='"good"'),
        server=["idle_timeout_s = 0", 'tls_keyfile = "key.pem"'],
        router=["exhaustion_status = 399"],
        routes="{ a = 'primary', b = 'third' }",
    )
    assert told(text.encode()) == "\n".join([
        "router.exhaustion_status: must be a whole number from 400 to 599",
        'router.model_routes."b": must be the id of a tier',
        "router.tiers[0].replicas[1].base_url: must be a URL that begins with http:// or https://",
        "router.tiers[0].replicas[1].id: must be unique in its tier",
        "router.tiers[0].replicas[1].port: is not a known key",
        "router.tiers[0].timeout: must be a finite number of seconds above 0",
        "router.tiers[1].context_limit: is required with metadata_source configured",
        "router.tiers[1].id: must be the target of at least one alias",
        "router.tiers[1].mood: is not a known key",
        "server.idle_timeout_s: must be a number of seconds above 0 and at most 86400",
        "server.tls_certfile: is required with the other tls_ key",
    ])


def test_without_router_the_server_is_checked_all_the_same() -> None:
    """Both problems are told."""
    assert told(b"[server]\nmax_concurrency = 0") == (
        "router: is required\nserver.max_concurrency: must be a whole number from 1 to 65536"
    )


def files_with(value: str) -> list[str]:
    """For each known key, a file where it has that value."""
    member = [*ReplicaMember.model_fields]
    return [
        *(config(server=[f"{key} = {value}"]) for key in ServerSettings.model_fields),
        *(config(router=[f"{key} = {value}"]) for key in RouterSettings.model_fields),
        *(f"[router]\n{key} = {value}" for key in ROUTER_KEYS),
        *(config(inline({**DIRECT, key: value})) for key in TIER_KEYS),
        *(config(replica(**{key: value})) for key in TIER_KEYS),
        *(config(replica(MEMBER_A, {**MEMBER_B, key: value})) for key in member),
        *(config(replica(identity=inline({**IDENTITY, key: value}))) for key in IDENTITY),
        *(config(direct(compat=f"{{ {key} = {value} }}")) for key in Compat.model_fields),
        config(routes=f"{{ a = {value} }}"),
    ]


@pytest.mark.parametrize("value", CANARIES)
def test_a_secret_in_the_wrong_place_is_never_shown(value: str) -> None:
    """Whatever key it stands at, no message and no problem holds it."""
    for text in files_with(value):
        message = told(text.encode())
        assert "canary" not in message


def test_a_secret_as_a_key_is_never_shown() -> None:
    """A key that is no plain word is left out of the path."""
    for text in (
        config(server=['"Bearer sk canary" = 1']),
        config(direct(**{'"sk canary"': "1"})),
        config(routes='{ "sk canary" = 1 }'),
    ):
        message = told(text.encode())
        assert message
        assert "canary" not in message


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()))
def test_any_bytes_are_a_configuration_or_a_config_error(data: bytes) -> None:
    """Nothing else is ever raised."""
    told(data)


KEYS = st.sampled_from([
    *ServerSettings.model_fields,
    *RouterSettings.model_fields,
    *ROUTER_KEYS,
    *TIER_KEYS,
    *ReplicaMember.model_fields,
    *Compat.model_fields,
    "capacity",
    "capabilities",
    "",
])
SCALARS = (
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["upstream", "auto", "capacity", "http://a.test", "http://[", "KEY"])
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TIERS = st.lists(
    st.dictionaries(st.sampled_from(TIER_KEYS), TREES, max_size=6)
    | st.fixed_dictionaries(
        {"id": st.just("t"), "replicas": TREES, "params": TREES}, optional={"compat": TREES}
    ),
    max_size=3,
)


@given(
    st.dictionaries(st.sampled_from(["server", "router", "other"]), TREES)
    | st.builds(
        lambda tiers, routes: {"router": {"tiers": tiers, "model_routes": routes}}, TIERS, TREES
    )
)
def test_any_tree_is_a_configuration_or_a_config_error(tree: dict[str, object]) -> None:
    """Known keys with values of any shape, at any depth: a message, never a crash, always equal."""
    data = "\n".join(f"{key} = {as_toml(value)}" for key, value in tree.items()).encode()
    assert told(data) == told(data)


def test_params_that_are_no_json_have_no_tables() -> None:
    """A rule between tables does not look into what is wrong."""
    table = read_table(Tier, {"params": {"capacity": {"image_limit": float("nan")}}}, "t")
    assert read_params(table).tables == {}
