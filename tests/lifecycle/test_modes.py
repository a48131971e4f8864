"""Modes and profiles, in memory: who has the GPUs, with and without a router, killed anywhere."""

import pytest

from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.model import Mode
from anvil_trio.lifecycle.modes import ModeOrder, change_mode, preview_mode, show_mode
from anvil_trio.lifecycle.plans import ModeState
from anvil_trio.lifecycle.promote import promote
from tests.lifecycle.world import SPLIT, Killed, World

ENTER, LEAVE = Mode.EXCLUSIVE, Mode.SPLIT
LOOKS = {"lock", "save", "saved", "create", "installed", "event"}


def order(world: World, mode: Mode) -> ModeOrder:
    """The mode of the one exclusive serve."""
    return ModeOrder(mode, world.serve("duo"), "day", 5.0, 1.0, "big")


def split_world(folder, **more) -> World:
    """A machine in the split mode, one of whose serves is stopped."""
    world = World(folder, up={"west", "east", "old"}, **more)
    world.install("split")
    return world


def is_exclusive(world: World) -> None:
    """The target has the GPUs, and its configuration is at work."""
    assert world.up == {"duo", "old"}
    assert world.installed_file() == world.digest("duo")
    assert "big" not in world.closed
    assert world.desk().store.unfinished() is None


def is_split(world: World) -> None:
    """The group has them, and all its tiers are open."""
    assert world.up == {*SPLIT, "old"}
    assert world.installed_file() == world.digest("split")
    assert not world.closed.intersection({"left", "right"})
    assert world.desk().store.unfinished() is None


async def test_a_mode_is_entered_and_left(tmp_path):
    """Tiers are closed and drained before anything stops, and opened after the route has moved."""
    world = split_world(tmp_path)
    outcome = await change_mode(world.desk(), order(world, ENTER))
    assert outcome is not None
    assert outcome.is_success
    assert [each for each in world.told if each not in LOOKS] == [
        *("quiesce left", "quiesced left", "quiesce right", "quiesced right"),
        *("drain left", "drain right", "stop west", "stopped west", "stop east", "stopped east"),
        *("start duo", "started duo", "activate", "activated", "readmit big", "readmitted big"),
    ]
    is_exclusive(world)
    assert (await show_mode(world.desk().engines)).state is ModeState.EXCLUSIVE
    outcome = await change_mode(world.desk(), order(world, LEAVE))
    assert outcome is not None
    assert outcome.is_success
    is_split(world)
    assert world.events == [("profile.enter", "big"), ("profile.leave", "big")]


@pytest.mark.parametrize("mode", [ENTER, LEAVE])
async def test_what_is_so_already_is_left_alone(tmp_path, mode):
    """No journal, no effect; only the lock was held and the router looked at."""
    world = split_world(tmp_path)
    if mode is ENTER:
        assert await change_mode(world.desk(), order(world, ENTER)) is not None
    world.told.clear()
    assert await change_mode(world.desk(), order(world, mode)) is None
    assert world.told == ["lock", "installed"]


async def test_a_serve_that_does_not_run_keeps_nobody_from_being_elsewhere(tmp_path):
    """An exclusive serve beside another GPU serve, or a group of which one is down, is not so."""
    world = split_world(tmp_path)
    world.up.add("duo")
    assert await change_mode(world.desk(), order(world, ENTER)) is not None
    is_exclusive(world)
    world.up = {"old", "west"}
    world.install("split")
    assert await change_mode(world.desk(), order(world, LEAVE)) is not None
    is_split(world)


@pytest.mark.parametrize("mode", [ENTER, LEAVE])
async def test_without_a_router_nothing_is_closed_and_nothing_fails(tmp_path, mode):
    """A router that is not running is not asked to readmit; its file is ready for it."""
    world = split_world(tmp_path)
    if mode is LEAVE:
        await change_mode(world.desk(), order(world, ENTER))
    world.is_router_up = False
    world.closed.clear()
    world.told.clear()
    outcome = await change_mode(world.desk(), order(world, mode))
    assert outcome is not None
    assert outcome.is_success
    assert not [each for each in world.told if each.startswith(("quiesce", "drain", "readmit"))]
    (is_exclusive if mode is ENTER else is_split)(world)


@pytest.mark.parametrize(
    "fault", ["quiesce left", "busy left", "stop west", "start duo", "health duo", "activate"]
)
async def test_a_mode_that_cannot_be_entered_is_undone(tmp_path, fault):
    """What ran before runs again, its tiers are open, and the journal says why."""
    world = split_world(tmp_path, sick={fault})
    outcome = await change_mode(world.desk(), order(world, ENTER))
    assert outcome is not None
    assert not outcome.is_success
    assert outcome.journal.error is not None
    assert outcome.journal.progress.is_finished
    is_split(world)
    assert world.events == [("profile.leave", "big")]


@pytest.mark.parametrize("fault", ["", "health duo"])
@pytest.mark.parametrize("then", [ENTER, LEAVE])
@pytest.mark.parametrize("first", [ENTER, LEAVE])
async def test_a_kill_at_any_moment_is_taken_up(tmp_path, first, then, fault):
    """Whoever asks next for either mode gets it, whole."""
    moment, kills = 0, 0
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        world = split_world(folder)
        if first is LEAVE:
            await change_mode(world.desk(), order(world, ENTER))
        world.told.clear()
        world.sick.add(fault)
        world.kill_at = moment
        try:
            await change_mode(world.desk(), order(world, first))
        except Killed:
            kills += 1
        else:
            break
        world.kill_at = -1
        world.sick.clear()
        outcome = await change_mode(world.desk(), order(world, then))
        assert outcome is None or outcome.is_success
        (is_exclusive if then is ENTER else is_split)(world)
        moment += 1
    assert kills > 15


async def test_a_broken_off_operation_that_cannot_be_taken_up_stops_there(tmp_path):
    """Its failure is the answer, and nothing else is begun."""
    world = split_world(tmp_path, kill_at=20)
    with pytest.raises(Killed):
        await change_mode(world.desk(), order(world, ENTER))
    world.kill_at = -1
    world.sick = {"start west", "start duo"}
    outcome = await change_mode(world.desk(), order(world, LEAVE))
    assert outcome is not None
    assert outcome.journal.error == "serve_not_started"
    assert not outcome.journal.progress.is_finished
    assert len(world.journals) == 1


async def test_another_operation_that_broke_off_is_in_the_way(tmp_path):
    """A promotion is taken up by its own command; a mode does not touch what it left."""
    world = World(tmp_path, kill_at=12)
    with pytest.raises(Killed):
        await promote(world.desk(), world.plan)
    world.kill_at = -1
    world.install("old")
    with pytest.raises(LifecycleFailed) as refused:
        await change_mode(world.desk(), order(world, ENTER))
    assert refused.value.code == "operation_unfinished"


async def test_a_machine_without_routed_tiers_needs_no_configuration_and_no_router(tmp_path):
    """T012: an entirely unrouted transition works with no file of a router at all."""
    world = World(tmp_path, up={"west", "east", "old"})
    bare = {"router_tier": "", "router_config": "", "rollback_router_config": ""}
    serves = tuple(serve.model_copy(update=bare) for serve in world.manifest.serves)
    world.manifest = world.manifest.model_copy(update={"serves": serves})
    (tmp_path / "router.toml").unlink()
    for mode in (ENTER, LEAVE):
        world.told.clear()
        await preview_mode(world.desk(), order(world, mode))
        outcome = await change_mode(world.desk(), order(world, mode))
        assert outcome is not None
        assert outcome.is_success
        assert "installed" not in world.told
    assert world.up == {"west", "east", "old"}


async def test_a_mode_without_configurations_of_its_own_leaves_the_route_alone(tmp_path):
    """Only the tiers are closed and opened."""
    world = split_world(tmp_path)
    bare = {"router_config": "", "rollback_router_config": ""}
    serves = tuple(serve.model_copy(update=bare) for serve in world.manifest.serves)
    world.manifest = world.manifest.model_copy(update={"serves": serves})
    outcome = await change_mode(world.desk(), order(world, ENTER))
    assert outcome is not None
    assert outcome.is_success
    assert "activate" not in world.told
    assert world.route == world.digest("split")


async def test_a_preview_shows_what_would_be_done(tmp_path):
    """Nothing is locked, written or asked of a router."""
    world = split_world(tmp_path)
    planned = await preview_mode(world.desk(), order(world, ENTER))
    assert planned.side.stops == ("west", "east")
    assert planned.side.closes == ("left", "right")
    assert world.told == []
