"""A tier whose engine owns its model and context: adopted by the probe, or not ready."""

import json

import pytest

from anvil_trio.config.model import Tier
from anvil_trio.facts import Served
from anvil_trio.names import DIRECT_MEMBER, TierId
from tests.readiness.world import World
from tests.support.fake_upstream import REFUSED, models, reply


def owned(**more) -> Tier:
    """A direct tier that names no model and no context."""
    return Tier(
        id="one",
        auth_env="KEY",
        base_url="http://one.test",
        health_path="/health",
        metadata_source="upstream",
        **more,
    )


def listing(*entries: dict[str, object]):
    """What `/v1/models` answers."""
    return reply(json.dumps({"data": entries}).encode())


def served(world: World) -> Served | None:
    """What is adopted now."""
    return world.prober.verdict(TierId("one"), DIRECT_MEMBER).served


async def test_the_list_suffices_where_it_states_the_context(autojump_clock):
    """Two calls, and the tier has a model and a context."""
    world = World(owned())
    world.engine("one").models = listing({"id": "m", "max_model_len": 4096})
    await world.run_until(1)
    assert served(world) == Served("m", 4096)
    assert world.reason("one") == "upstream_metadata_passed"
    assert world.eligible("one") == [(0, {DIRECT_MEMBER})]
    asked = [call.request.url.path for call in world.engine("one").probes]
    assert asked == ["/health", "/v1/models"]


async def test_llamacpp_is_asked_for_its_context(autojump_clock):
    """Where the list does not say it, a third call does."""
    world = World(owned())
    engine = world.engine("one")
    engine.models = models("m")
    engine.pages["/props"] = reply(
        b'{"default_generation_settings":{"n_ctx":65536},"model_alias":"m"}'
    )
    await world.run_until(1)
    assert served(world) == Served("m", 65_536)


@pytest.mark.parametrize(
    ("props", "why"),
    [
        (reply(b"", status=404), "upstream_metadata_context_missing"),
        (reply(b'{"model_alias":"other"}'), "upstream_metadata_identity_mismatch"),
        (REFUSED, "identity_transport"),
    ],
)
async def test_without_a_context_the_tier_is_not_ready(props, why, autojump_clock):
    """It fails closed: nothing is adopted, nobody is eligible."""
    world = World(owned())
    world.engine("one").models = models("m")
    world.engine("one").pages["/props"] = props
    await world.run_until(1)
    assert (world.reason("one"), served(world)) == (why, None)
    assert world.eligible("one") == [(0, set())]


async def test_an_engine_that_begins_to_serve_two_models_is_dropped(autojump_clock):
    """What was adopted ends with the first answer that leaves it open."""
    world = World(owned())
    engine = world.engine("one")
    engine.models = listing({"id": "m", "max_model_len": 4096})
    await world.run_until(1)
    engine.models = models("m", "n")
    await world.run_until(7)
    assert (world.reason("one"), served(world)) == ("upstream_metadata_model_count", None)


async def test_a_configured_output_beyond_the_context_is_a_conflict(autojump_clock):
    """The operator's limit and the engine's context must agree."""
    world = World(owned(max_output_tokens=5000))
    world.engine("one").models = listing({"id": "m", "max_model_len": 4096})
    await world.run_until(1)
    assert world.reason("one") == "upstream_metadata_output_limit_conflict"
