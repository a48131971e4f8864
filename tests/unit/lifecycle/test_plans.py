"""What an operation is about, from the manifest alone."""

import pytest

from anvil_trio.config.parse import parse_config
from anvil_trio.lifecycle.manifest import parse_manifest
from anvil_trio.lifecycle.plans import (
    ModeState,
    affected_by_mode,
    find_mode,
    keeps_replicas,
    plan_enter,
    plan_leave,
    plan_promotion,
    victims_of,
)
from anvil_trio.lifecycle.progress import Goal, Order
from tests.lifecycle.samples import MANIFEST, SWAP, native
from tests.unit.config.toml import config, direct, replica

TIMES = (7.0, 8.0, 9.0)


def serve(name):
    """A serve of the sample."""
    found = MANIFEST.serve(name)
    assert found is not None
    return found


DUO, WEST, EAST, ONE = (serve(name) for name in ("duo", "west", "east", "one"))


def test_a_promotion_lets_both_run_at_once():
    """Each side has its own serve, configuration, gate and time; both have the same tiers."""
    text = native("old") + native("new", port="8102") + SWAP
    text += (
        'candidate = "c-1"\ngate = ["check", "{port}", "{dir}", "{candidate}", "{needle_ctx}"]\n'
    )
    text += 'rollback_gate = ["{port}", "{tool_batch}"]\n'
    text += "startup_timeout = 5\nrollback_startup_timeout = 6\ndrain_timeout = 7\n"
    manifest = parse_manifest([text.encode()])
    journal = plan_promotion(manifest.promotions[0], manifest, ("a", "b"), "/there")
    assert (journal.kind, journal.name, journal.order) == ("promotion", "swap", Order.START_FIRST)
    assert (journal.origin, journal.goal, journal.drain_timeout_s) == (Goal.TARGET, Goal.TARGET, 7)
    assert journal.poll_interval_s == 5
    target, rollback = journal.target, journal.rollback
    assert (target.serves, target.stops) == (("new",), ("old",))
    assert (rollback.serves, rollback.stops) == (("old",), ("new",))
    assert target.closes == target.opens == rollback.closes == rollback.opens == ("chat",)
    assert (target.config_sha256, rollback.config_sha256) == ("a", "b")
    assert target.gate == ("check", "8102", "/there", "c-1", "32768")
    assert rollback.gate == ("8101", "20")
    assert (target.startup_timeout_s, rollback.startup_timeout_s) == (5, 6)


def test_a_rollback_may_take_as_long_as_a_start_if_nothing_else_is_said():
    """Its own time is optional."""
    journal = plan_promotion(MANIFEST.promotions[0], MANIFEST, (None, None), "")
    assert journal.target.startup_timeout_s == journal.rollback.startup_timeout_s == 600


def test_a_plan_about_a_serve_that_is_gone_still_has_its_shape():
    """What is missing is found by whoever starts it; nothing is guessed here."""
    bare = MANIFEST.model_copy(update={"serves": ()})
    journal = plan_promotion(MANIFEST.promotions[0], bare, (None, None), "")
    assert journal.target.serves == ("new",)


def test_all_that_use_a_gpu_must_make_way_running_or_not():
    """T012.2: the affected tiers are a static union, each once."""
    assert [each.name for each in victims_of(MANIFEST, DUO)] == ["west", "east"]
    assert affected_by_mode(MANIFEST, DUO, "day") == ("big", "left", "right")
    assert affected_by_mode(MANIFEST, DUO, "nobody") == ("big", "left", "right")
    text = native("a", groups='["g"]', router_tier='"t"') + native("b", gpu_inference="true")
    manifest = parse_manifest([text.encode()])
    a, b = manifest.serves
    assert affected_by_mode(manifest, b, "g") == ("t",)
    assert [each.name for each in victims_of(manifest, a)] == ["b"]
    assert affected_by_mode(manifest, b, "none") == ()


@pytest.mark.parametrize(
    ("running", "state"),
    [
        ((), ModeState.STOPPED),
        ((ONE,), ModeState.STOPPED),
        ((WEST, ONE), ModeState.SPLIT),
        ((DUO, ONE), ModeState.EXCLUSIVE),
        ((DUO, EAST), ModeState.MIXED),
    ],
)
def test_a_mode_is_what_runs(running, state):
    """Only what uses a GPU matters."""
    assert find_mode(running) is state


def test_entering_stops_every_other_gpu_serve_and_can_bring_back_what_ran():
    """Only tiers of what runs are closed; only what ran is started again."""
    journal = plan_enter(MANIFEST, DUO, [WEST, ONE], ("a", "b"), TIMES)
    assert (journal.kind, journal.name, journal.order) == ("mode", "duo", Order.STOP_FIRST)
    assert (journal.origin, journal.drain_timeout_s, journal.poll_interval_s) == (Goal.TARGET, 8, 9)
    target, back = journal.target, journal.rollback
    assert (target.serves, target.stops) == (("duo",), ("west", "east"))
    assert (target.closes, target.opens, target.config_sha256) == (("left",), ("big",), "a")
    assert (back.serves, back.stops) == (("west",), ("duo",))
    assert (back.closes, back.opens, back.config_sha256) == (("big",), ("left",), "b")
    assert target.startup_timeout_s == back.startup_timeout_s == 7


@pytest.mark.parametrize("is_running", [True, False])
def test_leaving_starts_the_group_and_can_bring_back_the_target(is_running):
    """What of the group ran before is not stopped by the undoing; nor is a target started."""
    running = [DUO, EAST] if is_running else [EAST]
    journal = plan_leave(MANIFEST, DUO, "day", running, ("a", "b"), TIMES)
    assert (journal.origin, journal.goal) == (Goal.ROLLBACK, Goal.ROLLBACK)
    target, back = journal.target, journal.rollback
    assert (back.serves, back.stops, back.opens) == (("west", "east"), ("duo",), ("left", "right"))
    assert back.config_sha256 == "b"
    assert target.stops == ("west",)
    assert target.closes == ("left", "right")
    had = ("duo",) if is_running else ()
    big = ("big",) if is_running else ()
    assert (target.serves, target.opens, back.closes) == (had, big, big)
    assert target.config_sha256 == ("a" if is_running else None)


def test_replicas_come_with_no_switch():
    """T015: a replica tier that the active configuration does not have as it is cannot come in."""
    routes = '{ a = "one", b = "many" }'
    one = parse_config(config(direct(id='"one"'), routes='{ a = "one" }').encode())
    both = parse_config(config(direct(id='"one"'), replica(id='"many"'), routes=routes).encode())
    other = parse_config(
        config(
            direct(id='"one"'), replica(id='"many"', context_limit="4096"), routes=routes
        ).encode()
    )
    assert keeps_replicas(one, one)
    assert keeps_replicas(None, one)
    assert keeps_replicas(both, both)
    assert keeps_replicas(both, one)
    assert not keeps_replicas(one, both)
    assert not keeps_replicas(None, both)
    assert not keeps_replicas(both, other)
