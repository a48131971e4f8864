"""Promotions, in memory: every order of effects, every failure, and a kill at every moment."""

from collections.abc import Mapping

import pytest

from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.promote import (
    preview,
    promote,
    resume_promotion,
    roll_back_promotion,
)
from tests.lifecycle.world import Killed, World

PROMOTED = [
    *("start new", "started new"),
    *("quiesce chat", "quiesced chat", "drain chat", "activate", "activated"),
    *("readmit chat", "readmitted chat", "stop old", "stopped old"),
]
FAULTS = [
    "",
    "start new",
    "health new",
    "quiesce chat",
    "busy chat",
    "activate",
    "unready chat",
    "readmit chat",
    "stop old",
]


def effects(world: World) -> list[str]:
    """What changed something, in its order."""
    looks = {"lock", "save", "saved", "create", "installed", "event"}
    return [each for each in world.told if each not in looks]


def is_whole(world: World, name: str) -> None:
    """One process, one route, nothing closed, nothing left to do: all of it on one side."""
    assert world.up == {name}
    assert world.route == world.digest(name)
    assert world.installed_file() == world.digest(name)
    assert world.closed == set()
    assert world.desk().store.unfinished() is None


async def code_of(work) -> str:
    """Why something was refused."""
    with pytest.raises(LifecycleFailed) as refused:
        await work
    return refused.value.code


async def test_a_promotion_starts_closes_moves_opens_and_stops(tmp_path):
    """In this order, with the lock held and each step written down first."""
    world = World(tmp_path)
    outcome = await promote(world.desk(), world.plan)
    assert outcome.is_success
    assert outcome.is_recorded
    assert effects(world) == PROMOTED
    assert world.told[:5] == ["lock", "installed", "installed", "create", "save"]
    for effect in PROMOTED[::2]:
        assert "saved" in world.told[: world.told.index(effect)]
    is_whole(world, "new")
    assert world.events == [("promote.applied", "swap")]


async def test_a_rollback_is_a_promotion_the_other_way(tmp_path):
    """An operation of its own, after which nothing is left to roll back."""
    world = World(tmp_path)
    await promote(world.desk(), world.plan)
    outcome = await roll_back_promotion(world.desk(), world.plan)
    assert outcome.is_success
    assert (outcome.journal.id, len(world.journals)) == ("000002-promotion-swap", 2)
    is_whole(world, "old")
    assert world.events[-1] == ("promote.rolled_back", "swap")
    for again in (roll_back_promotion, resume_promotion):
        assert (await code_of(again(world.desk(), world.plan))).startswith("nothing_to_")
    assert (await promote(world.desk(), world.plan)).is_success
    is_whole(world, "new")


@pytest.mark.parametrize("fault", [each for each in FAULTS if each])
async def test_whatever_fails_is_undone(tmp_path, fault):
    """The old serve serves as before, the new one is gone, and the journal says why."""
    world = World(tmp_path, sick={fault})
    desk = world.desk()
    if fault in {"readmit chat", "unready chat"}:
        outcome = await promote(desk, world.plan)
        assert not outcome.journal.progress.is_finished  # what opens is sick on the way back too
        assert outcome.is_recorded is None
        world.sick.clear()
        assert (await resume_promotion(world.desk(), world.plan)).is_success
    else:
        outcome = await promote(desk, world.plan)
        assert not outcome.is_success
        assert outcome.journal.progress.is_finished
        assert outcome.journal.error is not None
        assert world.events == [("promote.rolled_back", "swap")]
    is_whole(world, "old")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", [resume_promotion, roll_back_promotion])
async def test_a_kill_at_any_moment_loses_nothing(tmp_path, fault, way):
    """Before and after every effect: then one side is whole, and after a rollback it is the old."""
    moment, kills = 0, 0
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        world = World(folder, sick={fault}, kill_at=moment)
        try:
            await promote(world.desk(), world.plan)
        except Killed:
            kills += 1
        else:
            break
        world.kill_at = -1
        world.sick.clear()
        try:
            assert (await way(world.desk(), world.plan)).is_success
        except LifecycleFailed as refused:
            assert refused.code.startswith("nothing_to_")  # noqa: PT017
        is_whole(world, "old" if way is roll_back_promotion or world.up == {"old"} else "new")
        moment += 1
    assert kills > 15


@pytest.mark.parametrize("way", [resume_promotion, roll_back_promotion])
async def test_a_kill_while_it_is_rolled_back_loses_nothing(tmp_path, way):
    """A rollback that is killed is taken up by either, and ends on the rollback side."""
    moment, kills = 0, 0
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        world = World(folder)
        await promote(world.desk(), world.plan)
        world.told.clear()
        world.kill_at = moment
        try:
            await roll_back_promotion(world.desk(), world.plan)
        except Killed:
            kills += 1
        else:
            break
        world.kill_at = -1
        try:
            assert (await way(world.desk(), world.plan)).is_success
        except LifecycleFailed as refused:
            assert refused.code.startswith("nothing_to_")  # noqa: PT017
            is_whole(world, next(iter(world.up)))
        else:
            is_whole(world, "old")
        moment += 1
    assert kills > 15


@pytest.mark.parametrize("fault", ["start old", "busy chat", "activate", "stop new"])
async def test_a_rollback_that_fails_leaves_the_new_serve_in_place(tmp_path, fault):
    """It is undone as a promotion is; asked again, it is done."""
    world = World(tmp_path)
    await promote(world.desk(), world.plan)
    world.sick.add(fault)
    outcome = await roll_back_promotion(world.desk(), world.plan)
    assert not outcome.is_success
    is_whole(world, "new")
    world.sick.clear()
    assert await code_of(roll_back_promotion(world.desk(), world.plan)) == "nothing_to_roll_back"


async def test_the_old_serve_is_not_stopped_for_a_new_one_that_is_not_well(tmp_path):
    """Before anything that served is ended, what stays is looked at once more."""
    world = World(tmp_path)
    desk = world.desk()
    real = desk.engines.is_healthy

    async def is_healthy(serve):
        return serve.name != "new" and await real(serve)

    desk.engines.is_healthy = is_healthy  # type: ignore[method-assign]
    outcome = await promote(desk, world.plan)
    assert outcome.journal.error == "serve_not_healthy"
    assert "stop old" not in world.told
    is_whole(world, "old")


async def test_an_undoing_that_cannot_drain_leaves_nothing_closed(tmp_path):
    """Its route leads to what runs, so it is opened again until somebody takes it up."""
    world = World(tmp_path, sick={"stop old"})
    world.sick.add("busy chat")
    desk = world.desk()
    world.sick.discard("busy chat")
    real = desk.engines.stop

    async def stop(serve):
        world.sick.add("busy chat")
        await real(serve)

    desk.engines.stop = stop  # type: ignore[method-assign]
    outcome = await promote(desk, world.plan)
    assert not outcome.journal.progress.is_finished
    assert outcome.journal.error == "not_drained"
    assert world.closed == set()
    assert world.route == world.digest("new")
    assert await code_of(promote(world.desk(), world.plan)) == "operation_unfinished"
    world.sick.clear()
    assert (await roll_back_promotion(world.desk(), world.plan)).is_success
    is_whole(world, "old")


async def test_nothing_begins_while_another_command_works(tmp_path):
    """The lock is asked first and never waited for."""
    world = World(tmp_path)
    world.is_locked = True
    for way in (promote, resume_promotion, roll_back_promotion):
        world.told.clear()
        assert await code_of(way(world.desk(), world.plan)) == "lifecycle_locked"
        assert world.told == ["lock"]


async def test_a_promotion_needs_the_router_whose_file_it_replaces(tmp_path):
    """A router that is not there, or runs another configuration, is found at once."""
    world = World(tmp_path, is_router_up=False)
    assert await code_of(promote(world.desk(), world.plan)) == "router_unreachable"
    world.is_router_up = True
    world.route = world.digest("new")
    assert await code_of(promote(world.desk(), world.plan)) == "router_config_mismatch"
    assert effects(world) == []
    assert world.journals == {}


async def test_what_cannot_be_written_down_is_not_done(tmp_path):
    """A full disk refuses the promotion before its first effect."""
    world = World(tmp_path, sick={"save"})
    assert await code_of(promote(world.desk(), world.plan)) == "operation_not_saved"
    assert effects(world) == []


async def test_bytes_that_changed_after_the_capture_are_not_installed(tmp_path):
    """T015: what was guarded is what is put to work, whatever the file holds by then."""
    world = World(tmp_path)
    digest, desk = world.digest("new"), world.desk()
    real = desk.engines.start

    async def start(serve, **more):
        (tmp_path / "new.toml").write_text("kanarie = 1")
        await real(serve, **more)

    desk.engines.start = start  # type: ignore[method-assign]
    assert (await promote(desk, world.plan)).is_success
    assert world.route == digest == world.installed_file()


async def test_a_kept_configuration_that_is_damaged_is_not_resumed(tmp_path):
    """T012: without the bytes that were guarded there is nothing that could be guarded again."""
    world = World(tmp_path, kill_at=12)
    with pytest.raises(Killed):
        await promote(world.desk(), world.plan)
    world.kill_at = -1
    lost: list[Mapping[str, bytes]] = [
        {},
        dict.fromkeys(world.kept[next(iter(world.kept))], b"x = "),
    ]
    for kept in lost:
        world.kept = dict.fromkeys(world.kept, kept)
        await neither_is_taken_up(world)


async def neither_is_taken_up(world: World) -> None:
    """Neither way goes on without what was guarded."""
    for way in (resume_promotion, roll_back_promotion):
        found = await code_of(way(world.desk(), world.plan))
        assert found == "replica_lifecycle_configuration_unavailable"


async def test_a_serve_that_the_files_lost_is_not_guessed(tmp_path):
    """An operation that names it fails, and says so."""
    world = World(tmp_path, kill_at=12)
    with pytest.raises(Killed):
        await promote(world.desk(), world.plan)
    world.kill_at = -1
    plan = world.plan
    world.manifest = world.manifest.model_copy(update={"serves": world.manifest.serves[1:]})
    outcome = await roll_back_promotion(world.desk(), plan)
    assert outcome.journal.error == "serve_unknown"
    assert not outcome.journal.progress.is_finished


@pytest.mark.parametrize(
    ("command", "is_passed"), [("true", True), ("false", False), ("/no", False)]
)
async def test_nothing_is_closed_before_the_gate_has_passed(tmp_path, command, is_passed):
    """A gate that fails or is not there is undone like any other step."""
    world = World(tmp_path)
    plan = world.plan.model_copy(update={"gate": (command,)})
    outcome = await promote(world.desk(), plan)
    assert outcome.is_success is is_passed
    assert outcome.journal.error == (None if is_passed else "gate_failed")
    assert ("quiesce chat" in world.told) is is_passed
    is_whole(world, "new" if is_passed else "old")


async def test_bytes_that_were_lost_before_the_route_moves_are_not_replaced_by_others(tmp_path):
    """The step fails, and so does its undoing, until somebody looks."""
    world = World(tmp_path)
    desk = world.desk()
    switch = desk.switch(is_routed=True)
    journal = desk.store.create(preview(desk, world.plan), {})
    with pytest.raises(LifecycleFailed, match="operation_unreadable"):
        await switch._route(journal)
    assert world.installed_file() == world.digest("old")


async def test_a_preview_touches_nothing(tmp_path):
    """It is guarded and worked out, and that is all."""
    world = World(tmp_path)
    planned = preview(world.desk(), world.plan)
    assert planned.target.config_sha256 == world.digest("new")
    assert world.told == []
