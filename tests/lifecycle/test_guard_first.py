"""T012: what the guard refuses touches nothing, at every entry; without the guard it would."""

from collections.abc import Awaitable, Callable

import pytest

from anvil_trio.lifecycle import desk as desk_module
from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.guard import check_lifecycle
from anvil_trio.lifecycle.model import Mode
from anvil_trio.lifecycle.modes import ModeOrder, change_mode, preview_mode
from anvil_trio.lifecycle.promote import (
    preview,
    promote,
    resume_promotion,
    roll_back_promotion,
)
from tests.lifecycle.world import Killed, World, router_toml

UNSUPPORTED = "replica_lifecycle_unsupported"
UNAVAILABLE = "replica_lifecycle_configuration_unavailable"
Entry = Callable[[World], Awaitable[object]]


def order(world: World, mode: Mode) -> ModeOrder:
    """The mode of the one exclusive serve."""
    return ModeOrder(mode, world.serve("duo"), "day", 5.0, 1.0, "big")


async def previewed(world: World) -> object:
    """A dry run."""
    return preview(world.desk(), world.plan)


PROMOTIONS: dict[str, Entry] = {
    "promote": lambda world: promote(world.desk(), world.plan),
    "resume": lambda world: resume_promotion(world.desk(), world.plan),
    "rollback": lambda world: roll_back_promotion(world.desk(), world.plan),
    "dry run": previewed,
}
MODES: dict[str, Entry] = {
    "enter": lambda world: change_mode(world.desk(), order(world, Mode.EXCLUSIVE)),
    "leave": lambda world: change_mode(world.desk(), order(world, Mode.SPLIT)),
    "preview": lambda world: preview_mode(world.desk(), order(world, Mode.EXCLUSIVE)),
}


async def code_of(work: Awaitable[object]) -> str:
    """Why something was refused; its words are its code."""
    with pytest.raises(LifecycleFailed) as refused:
        await work
    assert str(refused.value) == refused.value.code
    return refused.value.code


async def killed(world: World) -> None:
    """A promotion that broke off half-way, and had closed its tier."""
    world.kill_at = 14
    with pytest.raises(Killed):
        await promote(world.desk(), world.plan)
    world.kill_at = -1
    world.told.clear()


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.parametrize("is_begun", [False, True], ids=["fresh", "broken off"])
@pytest.mark.parametrize("entry", PROMOTIONS)
async def test_a_promotion_of_a_replica_tier_touches_nothing(tmp_path, entry, is_begun, name):
    """T012.1: in either configuration, in every direction, at recovery too."""
    world = World(tmp_path)
    if is_begun:
        await killed(world)
    before = dict(world.journals)
    (tmp_path / f"{name}.toml").write_text(router_toml(9000, replicas=("chat", "pair")))
    assert await code_of(PROMOTIONS[entry](world)) == UNSUPPORTED
    assert world.told == []
    assert world.journals == before


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.parametrize("text", ["", "kanarie", router_toml(9000).replace("chat", "kanarie")])
@pytest.mark.parametrize("entry", PROMOTIONS)
async def test_a_promotion_whose_tiers_are_not_known_touches_nothing(tmp_path, entry, text, name):
    """T012: missing, malformed and incomplete are one refusal, and never taken for direct."""
    world = World(tmp_path)
    (tmp_path / f"{name}.toml").write_text(text)
    assert await code_of(PROMOTIONS[entry](world)) == UNAVAILABLE
    assert world.told == []


async def test_replicas_that_are_not_affected_do_not_matter(tmp_path):
    """T012.1: a replica tier beside the affected one is promoted past, if it stays as it is."""
    world = World(tmp_path)
    assert (await promote(world.desk(), world.plan)).is_success


@pytest.mark.parametrize("entry", PROMOTIONS)
async def test_no_replica_comes_into_the_router_with_a_promotion(tmp_path, entry):
    """T015: an unaffected replica tier that is new or changed is refused before anything else."""
    world = World(tmp_path)
    (tmp_path / "new.toml").write_text(router_toml(9100, replicas=("left", "pair")))
    assert await code_of(PROMOTIONS[entry](world)) == UNSUPPORTED
    assert world.told == []


@pytest.mark.parametrize("tier", ["left", "right", "big"])
@pytest.mark.parametrize("entry", MODES)
async def test_a_mode_with_a_replica_tier_touches_nothing(tmp_path, entry, tier):
    """T012.2: the target's, a victim's, a restore member's, also of what is stopped."""
    world = World(tmp_path, up=set())
    (tmp_path / "router.toml").write_text(router_toml(9000, replicas=(tier, "pair")))
    assert await code_of(MODES[entry](world)) == UNSUPPORTED
    assert world.told == []


@pytest.mark.parametrize("name", ["duo", "split"])
@pytest.mark.parametrize("entry", MODES)
async def test_a_modes_own_configurations_are_guarded_too(tmp_path, entry, name):
    """T012.2: the target's tier in the promoted and in the rollback configuration."""
    world = World(tmp_path)
    (tmp_path / f"{name}.toml").write_text(router_toml(9300, replicas=("big", "pair")))
    assert await code_of(MODES[entry](world)) == UNSUPPORTED
    (tmp_path / f"{name}.toml").write_text("")
    assert await code_of(MODES[entry](world)) == UNAVAILABLE
    assert world.told == []


@pytest.mark.parametrize("entry", MODES)
async def test_a_mode_without_its_configuration_touches_nothing(tmp_path, entry):
    """T012.2: a routed mode whose active configuration is missing or malformed is refused."""
    world = World(tmp_path)
    for text in (None, "kanarie", router_toml(9000).replace("left", "kanarie")):
        if text is None:
            (tmp_path / "router.toml").unlink()
        else:
            (tmp_path / "router.toml").write_text(text)
        assert await code_of(MODES[entry](world)) == UNAVAILABLE
    assert world.told == []


async def test_a_mode_that_is_so_already_is_refused_all_the_same(tmp_path):
    """T012.2: that there would be nothing to do is found out after the guard."""
    world = World(tmp_path, up={"duo"})
    (tmp_path / "router.toml").write_text(router_toml(9000, replicas=("big", "pair")))
    assert await code_of(MODES["enter"](world)) == UNSUPPORTED
    assert world.told == []


@pytest.mark.parametrize("entry", ["promote", "enter"])
async def test_without_the_guard_the_same_would_be_done(tmp_path, entry, monkeypatch):
    """T012: the refusals above come from the guard alone, and its removal is noticed."""
    world = World(tmp_path)
    if entry == "enter":
        (tmp_path / "router.toml").write_text(router_toml(9000, replicas=("left", "pair")))
        world.route = world.installed_file()
    else:
        text = router_toml(9000, replicas=("chat", "pair"))
        for name in ("router", "old", "new"):
            (tmp_path / f"{name}.toml").write_text(text)
        world.route = world.installed_file()
    work = {**PROMOTIONS, **MODES}[entry]
    assert await code_of(work(world)) == UNSUPPORTED
    assert world.told == []
    monkeypatch.setattr(desk_module, "check_lifecycle", lambda *_: None)
    await work(world)
    assert "lock" in world.told
    assert world.journals
    assert {"start new", "start duo"}.intersection(world.told)


async def test_every_step_of_a_promotion_is_guarded_again(tmp_path, monkeypatch):
    """T012.1: a configuration that is no longer what it was stops the next step, not the last."""
    world = World(tmp_path)
    asked = []
    real = check_lifecycle

    def spy(tiers, *configs):
        asked.append(len(world.told))
        return real(tiers, *configs)

    monkeypatch.setattr(desk_module, "check_lifecycle", spy)
    assert (await promote(world.desk(), world.plan)).is_success
    assert len(asked) == 1 + 7
