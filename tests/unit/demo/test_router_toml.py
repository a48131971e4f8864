"""The demo's configuration."""

import tomllib

import pytest

from anvil_trio.config.parse import parse_config
from anvil_trio.demo.router_toml import member_ids, render_router_toml
from anvil_trio.demo.workflows import WORKFLOWS, media_environ
from anvil_trio.operations.registry import parse_registry


def rendered(urls, **changes):
    """The tree of a rendered configuration."""
    options = {"model": "m", "context_limit": 100, **changes}
    return tomllib.loads(render_router_toml({"demo": urls}, **options))


def test_two_engines_make_a_replica_tier():
    """Members a and b, in the order of the URLs, behind one alias."""
    tree = rendered(["http://127.0.0.1:1", "http://127.0.0.1:2"])
    (tier,) = tree["router"]["tiers"]
    assert [(each["id"], each["base_url"]) for each in tier["replicas"]] == [
        ("a", "http://127.0.0.1:1"),
        ("b", "http://127.0.0.1:2"),
    ]
    assert "base_url" not in tier
    assert tree["router"]["model_routes"] == {"demo": "demo"}


def test_one_engine_makes_a_direct_tier():
    """A single URL stands at the tier itself, with no replica keys."""
    (tier,) = rendered(["http://127.0.0.1:1"])["router"]["tiers"]
    assert tier["base_url"] == "http://127.0.0.1:1"
    assert not {"replicas", "replica_identity"} & set(tier)


@pytest.mark.parametrize("count", [1, 2, 16])
def test_the_configuration_is_one_that_the_router_takes(count):
    """It is parsed as any other, with as many members as there are engines."""
    urls = [f"http://127.0.0.1:{port}" for port in range(8001, 8001 + count)]
    data = render_router_toml({"demo": urls}, model="m", context_limit=100).encode()
    (tier,) = parse_config(data).tiers
    assert len(tier.member_ids) == count
    assert tier.is_replica == (count > 1)


def test_each_alias_has_a_tier_of_its_own():
    """Two routes make two tiers of the same name as their alias."""
    routes = {"one": ["http://127.0.0.1:1"], "two": ["http://127.0.0.1:1", "http://127.0.0.1:2"]}
    tree = tomllib.loads(render_router_toml(routes, model="m", context_limit=100))
    assert tree["router"]["model_routes"] == {"one": "one", "two": "two"}
    assert [tier["id"] for tier in tree["router"]["tiers"]] == ["one", "two"]


def test_the_decision_log_is_named_only_if_there_is_one():
    """Without a path there is no key."""
    assert rendered(["http://127.0.0.1:1"], log_path="log")["server"]["decision_log_path"] == "log"
    assert "decision_log_path" not in rendered(["http://127.0.0.1:1"])["server"]


def test_there_are_names_for_sixteen_members():
    """As many as a replica tier may have."""
    assert "".join(member_ids(16)) == "abcdefghijklmnop"


@pytest.mark.parametrize(
    "text", ['quo"te', "back\\slash", "new\nline", "\x7f", "\x00", "é日\U0001f600"]
)
def test_any_text_is_written_as_one_string(text):
    """No value can end its string and add a key of its own."""
    assert rendered(["http://127.0.0.1:1"], model=text)["router"]["tiers"][0]["model"] == text


def test_media_workflows_are_there_only_where_there_is_an_origin():
    """Without one there is no key of theirs; with one the router takes all of them."""
    assert not [key for key in rendered(["http://127.0.0.1:1"])["server"] if "media" in key]
    origin = "http://127.0.0.1:9"
    text = render_router_toml(
        {"demo": ["http://127.0.0.1:1"]}, model="m", context_limit=100, media_origin=origin
    )
    server = parse_config(text.encode()).server
    assert (server.media_public_origin, server.media_backend) == (origin, "demo")


def test_the_workflows_are_ones_that_the_router_takes(tmp_path):
    """The registry is read as any other, and all that it needs lies in the folder."""
    registry = parse_registry(WORKFLOWS.encode(), lambda _name: None, needs_graphs=False)
    assert [one.id for one in registry.workflows] == ["picture.discs", "picture.approved"]
    environ = dict(media_environ(tmp_path))
    assert environ.pop("ANVIL_MEDIA_BACKEND_URL") == ""
    assert all(value.startswith(str(tmp_path)) for value in environ.values())


def test_a_tier_may_have_sessions():
    """The demo's own engines converse, so its alias says that it does; of others nobody knows."""
    for is_realtime in (False, True):
        text = render_router_toml(
            {"demo": ["http://127.0.0.1:8001"]}, model="m", context_limit=1, is_realtime=is_realtime
        )
        (tier,) = parse_config(text.encode()).tiers
        assert tier.realtime is is_realtime
