"""One installation, from its first look to its end, over a router that is a file."""

from collections.abc import Callable
from itertools import count

import pytest

from anvil_trio.installation.faults import InstallFailed, NotBegun
from anvil_trio.installation.installer import Installer, look_over
from anvil_trio.installation.journal import Journal
from anvil_trio.installation.live_file import LiveFile
from anvil_trio.installation.protocol import AHEAD, End, Step, Way
from tests.support.installable import (
    NEW,
    OLD,
    FileRouter,
    digest,
    installed,
    payload,
    stage,
    tiers_of,
)


def raising(moment: str, failure: BaseException, times: int = 1) -> Callable[[str], None]:
    """Raises the first times that a moment comes."""
    left = iter(range(times))

    def meet(now: str) -> None:
        if now == moment and next(left, None) is not None:
            raise failure

    return meet


def assert_old(router: FileRouter, closed: tuple[str, ...] = ()) -> None:
    """All is as it was; only these tiers are closed."""
    assert (router.path.read_bytes(), router.work) == (OLD, OLD)
    assert router.names("closed") == [*closed]
    assert not router.path.with_name("router.toml.install").exists()


def assert_new(router: FileRouter) -> None:
    """The new bytes are there and at work, and the old ones kept."""
    assert (router.path.read_bytes(), router.work) == (NEW, NEW)
    assert router.names("closed") == []
    assert router.path.with_name("router.toml.bak").read_bytes() == OLD
    assert not router.path.with_name("router.toml.install").exists()
    assert not router.path.with_name("router.toml.new").exists()


async def test_a_hot_installation_neither_quiesces_nor_drains(tmp_path, autojump_clock):
    """T015: the bytes are written, the router takes them up, and is asked what it has."""
    router = stage(tmp_path)
    outcome = await installed(router, Way.HOT)
    assert (outcome.end, outcome.code, outcome.step) == (End.INSTALLED, None, None)
    assert router.asked == ["look", "activate", "look", "look"]
    assert_new(router)


async def test_a_restart_closes_drains_and_opens_in_this_order(tmp_path, autojump_clock):
    """T015: every tier, before a byte is written; then the tiers of the new configuration."""
    router = stage(tmp_path)
    outcome = await installed(router, Way.RESTART)
    assert outcome.end is End.INSTALLED
    assert router.asked == [
        "look",
        *(f"{order} {tier}" for order in ("quiesce", "drain") for tier in tiers_of(OLD)),
        "restart",
        "look",
        *(f"readmit {tier}" for tier in tiers_of(NEW)),
        "look",
    ]
    assert router.state["starts"] == 2
    assert_new(router)


@pytest.mark.parametrize("way", Way)
async def test_there_may_have_been_no_file(tmp_path, autojump_clock, way):
    """The router ran from elsewhere; a failure leaves none again."""
    router = stage(tmp_path)
    router.path.unlink()
    failing = FileRouter(tmp_path, raising("activated", InstallFailed("activation_failed")))
    outcome = await installed(failing, Way.HOT)
    assert not router.path.exists()
    router.start(OLD)
    outcome = await installed(router, way)
    assert (outcome.end, router.path.read_bytes()) == (End.INSTALLED, NEW)
    assert not router.path.with_name("router.toml.bak").exists()


def moments(way: Way) -> list[str]:
    """Everything that an installation which succeeds meets, each once, before and after."""
    orders = {
        Way.HOT: [("activate", "activated")],
        Way.RESTART: [
            *((f"quiesce {tier}", f"quiesced {tier}") for tier in tiers_of(OLD)),
            *((f"drain {tier}", f"drained {tier}") for tier in tiers_of(OLD)),
            ("restart", "restarted"),
        ],
    }
    return [moment for pair in orders[way] for moment in pair]


@pytest.mark.parametrize(
    ("way", "moment"), [(way, moment) for way in Way for moment in moments(way)]
)
@pytest.mark.parametrize("is_unsure", [False, True])
async def test_a_fault_at_any_order_leaves_the_old(
    tmp_path, autojump_clock, way, moment, is_unsure
):
    """T015: refused or unanswered, done or not: the old file, its configuration, open tiers."""
    router = stage(tmp_path)
    router.meet = raising(moment, InstallFailed("transition_failed", is_unsure=is_unsure))
    outcome = await installed(router, way)
    assert (outcome.end, outcome.code) == (End.RESTORED, "transition_failed")
    assert_old(router)


@pytest.mark.parametrize(
    ("way", "step"), [(way, step) for way in Way for step in AHEAD[way]], ids=str
)
async def test_a_disk_that_fails_before_any_step_leaves_the_old(
    tmp_path, autojump_clock, monkeypatch, way, step
):
    """T015: what cannot be written down is not done, and what was done before it is undone."""
    router, save = stage(tmp_path), LiveFile.save_journal

    def failing(live: LiveFile, journal: Journal) -> None:
        if journal.step is step:
            raise InstallFailed("install_not_saved")
        save(live, journal)

    monkeypatch.setattr(LiveFile, "save_journal", failing)
    outcome = await installed(router, way)
    assert (outcome.end, outcome.code, outcome.step) == (End.RESTORED, "install_not_saved", step)
    assert_old(router)


@pytest.mark.parametrize(
    ("way", "step"), [(way, step) for way in Way for step in AHEAD[way]], ids=str
)
async def test_an_interruption_at_any_step_leaves_the_old(tmp_path, autojump_clock, way, step):
    """T015: whoever gives up while a step is done gets all back as it was."""
    router = stage(tmp_path)

    def interrupting(now: Step, installer: Installer) -> None:
        if now is step:
            installer.interrupt()

    outcome = await installed(router, way, meet_step=interrupting)
    if way is Way.HOT and step is Step.READMIT:  # nothing was left to do
        assert_new(router)
    else:
        assert (outcome.end, outcome.code) == (End.RESTORED, "install_interrupted")
        assert_old(router)


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("name", ["back_up", "write"])
async def test_a_file_that_cannot_be_written_leaves_the_old(
    tmp_path, autojump_clock, monkeypatch, way, name
):
    """T015: with its own code, and open tiers."""
    router = stage(tmp_path)

    def failing(*_: object) -> None:
        raise InstallFailed("live_config_not_written")

    monkeypatch.setattr(LiveFile, name, failing)
    outcome = await installed(router, way)
    assert (outcome.end, outcome.code) == (End.RESTORED, "live_config_not_written")
    assert_old(router)


async def test_an_unanswered_activation_that_took_place_is_taken_back(tmp_path, autojump_clock):
    """T015: the answer was lost, the router has the new bytes: it is given the old ones again."""
    router = stage(tmp_path)
    router.meet = raising("activated", InstallFailed("router_unreachable", is_unsure=True))
    outcome = await installed(router, Way.HOT)
    assert (outcome.end, outcome.code) == (End.RESTORED, "router_unreachable")
    assert router.asked.count("activate") == 2
    assert_old(router)


async def test_requests_that_do_not_end_are_not_cut(tmp_path, autojump_clock):
    """T015: nothing is written or stopped; the tiers are opened in reverse order."""
    router = stage(tmp_path)
    router.change(busy=["two"])
    outcome = await installed(router, Way.RESTART)
    assert (outcome.end, outcome.code, outcome.step) == (
        End.RESTORED,
        "not_drained",
        Step.DRAIN,
    )
    assert router.asked[-4:-1] == ["readmit three", "readmit two", "readmit one"]
    assert "restart" not in router.asked
    assert_old(router)


async def test_all_drains_share_one_time(tmp_path, autojump_clock):
    """What is empty drains even when the time is over."""
    router, begun = stage(tmp_path), autojump_clock.current_time()
    router.change(busy=["one", "two", "three"])
    await installed(router, Way.RESTART, drain_s=50.0)
    assert autojump_clock.current_time() - begun == pytest.approx(50.0)


async def test_a_command_that_cannot_be_run_stops_nothing(tmp_path, autojump_clock):
    """T015: the router that runs keeps running, and is opened."""
    router = stage(tmp_path)
    router.meet = raising("restart", NotBegun("restart_command_failed"))
    outcome = await installed(router, Way.RESTART)
    assert (outcome.end, outcome.code) == (End.RESTORED, "restart_command_failed")
    assert (router.asked.count("restart"), router.state["starts"]) == (1, 1)
    assert_old(router)


async def test_a_command_that_ends_badly_is_run_again_with_the_old_file(tmp_path, autojump_clock):
    """T015: nobody knows what it has done."""
    router = stage(tmp_path)
    router.meet = raising("stopped", InstallFailed("restart_command_failed"))
    outcome = await installed(router, Way.RESTART)
    assert (outcome.end, outcome.code) == (End.RESTORED, "restart_command_failed")
    assert router.asked.count("restart") == 2
    assert_old(router)


async def test_a_router_with_other_tiers_is_not_the_one(tmp_path, autojump_clock, monkeypatch):
    """T015: it is waited for exactly the desired tiers, then all is taken back."""
    router, start = stage(tmp_path), FileRouter.start

    def other(self: FileRouter, data: bytes) -> None:
        start(self, data.replace(b"four", b"five") if data == NEW else data)

    monkeypatch.setattr(FileRouter, "start", other)
    outcome = await installed(router, Way.RESTART)
    assert (outcome.end, outcome.code) == (End.RESTORED, "router_not_restarted")
    assert_old(router)


async def test_a_command_that_restarts_nothing_is_found_out(tmp_path, autojump_clock):
    """The same bytes are installed, the digest is right, and the process is the old one."""
    router = stage(tmp_path)

    async def idle() -> None:
        router.asked.append("restart")

    router.restart = idle  # type: ignore[method-assign]
    outcome = await installed(router, Way.RESTART, OLD)
    assert (outcome.end, outcome.code) == (End.RESTORED, "router_not_restarted")
    assert_old(router)


async def test_the_same_bytes_can_be_installed_again(tmp_path, autojump_clock):
    """And the backup stays what it was."""
    router = stage(tmp_path)
    await installed(router, Way.RESTART)
    for way in Way:
        assert (await installed(router, way)).end is End.INSTALLED
        assert_new(router)


async def test_one_serve_that_is_down_is_no_failure(tmp_path, autojump_clock):
    """Gap 42: the tiers are exactly the desired ones, so that it succeeds and says who is not."""
    router = stage(tmp_path)
    router.change(unready=["four"])
    for way in Way:
        outcome = await installed(router, way)
        assert outcome.end is End.INSTALLED
        assert outcome.after is not None
        assert [row.tier_id for row in outcome.after.tiers if not row.is_ready] == ["four"]
        assert_new(router)
        router.path.write_bytes(OLD)
        router.start(OLD)


async def test_a_tier_that_is_not_ready_cannot_be_opened_again(tmp_path, autojump_clock):
    """It was closed, and readmission is a proof: so it is told, and the journal stays."""
    router = stage(tmp_path)
    router.change(unready=["two"], busy=["three"])
    outcome = await installed(router, Way.RESTART)
    assert (outcome.end, outcome.code, outcome.closed) == (
        End.UNCERTAIN,
        "not_drained",
        ("two",),
    )
    assert router.path.with_name("router.toml.install").exists()
    router.change(unready=[], busy=[])
    assert (await installed(router, Way.HOT)).end is End.INSTALLED
    assert_new(router)


async def test_what_an_operator_has_closed_stays_closed(tmp_path, autojump_clock):
    """T015: whether it is undone or not; a tier that crashed is left alone."""
    router = stage(tmp_path)
    router.change(closed=["two"], failed=["one"], busy=["three"])
    outcome = await installed(router, Way.RESTART)
    assert outcome.end is End.RESTORED
    assert_old(router, closed=("two",))
    router.change(busy=[])
    router.asked.clear()
    assert (await installed(router, Way.RESTART)).end is End.INSTALLED
    assert not {"quiesce two", "quiesce one", "drain one", "readmit two"} & {*router.asked}


@pytest.mark.parametrize(
    ("way", "step"),
    [
        (Way.HOT, Step.WRITE),
        (Way.HOT, Step.VERIFY),
        (Way.RESTART, Step.DRAIN),
        (Way.RESTART, Step.WRITE),
        (Way.RESTART, Step.AWAIT),
    ],
    ids=str,
)
async def test_a_file_that_somebody_edits_meanwhile_is_not_overwritten(
    tmp_path, autojump_clock, way, step
):
    """Neither before it is written, nor when it would be put back."""
    router = stage(tmp_path)

    def editing(now: Step, installer: Installer) -> None:
        if now is step:
            router.path.write_bytes(b"tiers edited")
            if step is not Step.WRITE:
                installer.interrupt()

    outcome = await installed(router, way, meet_step=editing)
    assert outcome.end is End.UNCERTAIN
    assert (outcome.code == "live_config_changed") is (step is Step.WRITE)
    assert (router.path.read_bytes(), router.names("closed")) == (b"tiers edited", [])


async def test_a_router_that_does_not_answer_is_left_alone(tmp_path, autojump_clock):
    """T015: nothing was changed, not even a journal written."""
    router = stage(tmp_path)
    router.change(is_up=False)
    before = {path.name for path in tmp_path.iterdir()}
    for way in Way:
        with pytest.raises(InstallFailed, match="router_unreachable"):
            await installed(router, way)
    assert {path.name for path in tmp_path.iterdir()} == before


async def test_a_router_that_dies_for_good_is_told(tmp_path, autojump_clock):
    """What cannot be asked is not claimed: the file is put back, and the end is uncertain."""
    router = stage(tmp_path)

    def dying(moment: str) -> None:
        if moment == "activate":
            router.change(is_up=False)

    router.meet = dying
    outcome = await installed(router, Way.HOT)
    assert (outcome.end, outcome.code, outcome.after) == (
        End.UNCERTAIN,
        "router_unreachable",
        None,
    )
    assert router.path.read_bytes() == OLD
    assert router.path.with_name("router.toml.install").exists()


@pytest.mark.parametrize(("look", "end"), [(1, End.RESTORED), (2, End.UNCERTAIN)])
async def test_success_is_claimed_only_while_it_is_so(tmp_path, autojump_clock, look, end):
    """Whoever else activates something right after us: ours are never claimed to be at work."""
    router, numbers = stage(tmp_path), count()

    def other(moment: str) -> None:
        if moment == "looked" and next(numbers) == look:
            router.change(work=OLD.decode())

    router.meet = other
    outcome = await installed(router, Way.HOT)
    assert (outcome.end, outcome.code) == (end, "installed_config_mismatch")


async def test_a_look_changes_nothing_and_shows_no_bytes(tmp_path, autojump_clock):
    """R012: whatever is planned."""
    router = stage(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    plan = await look_over(Way.RESTART, payload(NEW), router, LiveFile(router.path))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert (plan.sha256, plan.source) == (digest(NEW), NEW)
    assert "as it" not in repr(plan)
