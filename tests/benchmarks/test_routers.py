"""The configuration of a benchmark's own router."""

import tomllib

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV
from benchmarks.routers import router_toml


def test_a_router_has_the_settings_and_dialects_that_are_asked_for():
    """Settings stand with the server, the dialect with its tier; the rest is the demo's."""
    text = router_toml(
        {"a": ["http://h:1"], "b": ["http://h:2"]},
        "m",
        server={"idle_timeout_s": 3},
        router={"relay_timeout": 7},
        anthropic=["b"],
    )
    config = tomllib.loads(text)
    assert config["router"]["relay_timeout"] == 7
    assert config["router"]["model_routes"] == {"a": "a", "b": "b"}
    assert config["server"]["idle_timeout_s"] == 3
    assert config["server"]["auth_env"] == ROUTER_KEY_ENV
    tiers = {tier["id"]: tier["dialect"] for tier in config["router"]["tiers"]}
    assert tiers == {"a": "openai", "b": "anthropic"}
