"""Orders carried out on virtual time, over real actors and real probes of scripted engines."""

from contextlib import ExitStack
from functools import partial

import pytest
import trio
from structlog.testing import capture_logs

from anvil_trio.admission.permit import Permit
from anvil_trio.admission.state import AdmissionState
from anvil_trio.config.model import ServerSettings
from anvil_trio.decisions.events import IntentChanged
from anvil_trio.intent.intents import Intents
from anvil_trio.names import LEGACY_CLIENT, MemberId
from anvil_trio.tiers.state import TierState
from tests.support.asgi import Answer
from tests.support.fake_upstream import REFUSED, STALLED_WRITE, models, reply
from tests.support.operated import STREAM_S, Disk, Operated, open_operated
from tests.support.small_house import TIER, config_of, direct_tier, replica_tier

SERVER = ServerSettings(auth_env="ROUTER_TOKEN")
A, B = MemberId("a"), MemberId("b")


@pytest.fixture
async def operated():
    """A house of two ready replicas."""
    async with open_operated() as operated:
        yield operated


async def result(operated: Operated, action: str, member: str | None = None, **more):
    """The result of an order that was applied."""
    answer = await operated.order(action, member, **more)
    assert answer.status == 200, answer.body
    assert answer.headers[b"cache-control"] == b"no-store"
    assert answer.json["applied"] is True
    assert answer.json["action"] == action
    assert answer.json.keys() == {"applied", "action", "result"}
    return answer.json["result"]


async def test_quiesce_refuses_new_requests_and_keeps_running_ones(operated, autojump_clock):
    """R011: the running stream ends well, and a new request is a 503 at once."""
    async with trio.open_nursery() as nursery:
        running: list[Answer] = []
        nursery.start_soon(lambda: _keep(operated.stream, running))
        await trio.sleep(1)
        snapshot = await result(operated, "quiesce", reason="upgrade")
        assert (snapshot["state"], snapshot["reason"]) == ("quiesced", "upgrade")
        assert (snapshot["active_requests"], snapshot["draining"]) == (1, False)
        began = trio.current_time()
        refused = await operated.stream()
        assert (refused.status, refused.code) == (503, "service_unavailable")
        assert trio.current_time() == began
    assert (running[0].status, running[0].body.count(b"[DONE]")) == (200, 1)


async def test_whoever_waits_is_refused_in_that_step(autojump_clock):
    """Decision 4, R011: quiescing empties the line."""
    config = config_of(replica_tier(max_concurrency=1), server=SERVER)
    async with open_operated(config) as operated, trio.open_nursery() as nursery:
        answers: list[Answer] = []
        nursery.start_soon(operated.stream)
        await trio.sleep(1)
        nursery.start_soon(lambda: _keep(operated.stream, answers))
        await trio.sleep(1)
        assert (await operated.snapshot()).waiting == 1
        await result(operated, "quiesce")
        await trio.testing.wait_all_tasks_blocked()
        assert [answer.status for answer in answers] == [503]


async def test_a_drain_answers_when_the_last_lease_is_gone(operated, autojump_clock):
    """R011: tier drain waits for all member leases, and the counts are zero then."""
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(operated.stream)
        await trio.sleep(1)
        before = await result(operated, "quiesce")
        assert before["member_active_requests"] == {"a": 1, "b": 1}
        nursery.start_soon(_see_draining, operated)
        drained = await result(operated, "drain", timeout=60)
    assert trio.current_time() == pytest.approx(STREAM_S + 0.1)
    assert (drained["drained"], drained["timed_out"]) == (True, False)
    snapshot = drained["snapshot"]
    assert (snapshot["state"], snapshot["active_requests"], snapshot["draining"]) == (
        "quiesced",
        0,
        False,
    )
    assert snapshot["member_active_requests"] == {"a": 0, "b": 0}


async def _see_draining(operated: Operated) -> None:
    await trio.sleep(1)
    [row] = await operated.rows()
    assert (row["state"], row["draining"], row["active_requests"]) == ("quiesced", True, 2)


async def test_a_drain_that_times_out_is_an_answer(operated, autojump_clock):
    """It says how many requests still run; the tier stays quiesced and drains no more."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(operated.stream)
        await trio.sleep(1)
        await result(operated, "quiesce")
        drained = await result(operated, "drain", timeout=2.5)
        assert trio.current_time() == pytest.approx(0.1 + 1 + 2.5)
        assert (drained["drained"], drained["timed_out"]) == (False, True)
        snapshot = drained["snapshot"]
        assert (snapshot["active_requests"], snapshot["draining"]) == (1, False)
        assert snapshot["state"] == "quiesced"


@pytest.mark.parametrize("member", [None, "a"])
async def test_only_what_is_quiesced_drains(member, operated, autojump_clock):
    """A drain of what takes work is a 400 that changes nothing."""
    answer = await operated.order("drain", member)
    assert (answer.status, answer.code) == (400, "invalid_transition")


async def test_a_readmission_ends_a_drain(operated, autojump_clock):
    """Whoever drains is told that it is open again; readmission does not wait for the drain."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(operated.stream)
        await trio.sleep(1)
        await result(operated, "quiesce")
        answers: list[Answer] = []
        nursery.start_soon(lambda: _keep(partial(operated.order, "drain", timeout=60), answers))
        await trio.sleep(1)
        assert (await result(operated, "readmit"))["readmitted"]
        await trio.testing.wait_all_tasks_blocked()
        assert [answer.code for answer in answers] == ["invalid_transition"]


async def test_a_quiesced_replica_tier_is_readmitted(operated, autojump_clock):
    """R011: a fresh pass of its members brings it back."""
    await result(operated, "quiesce", reason="upgrade")
    probes = len(operated.engine("a").probes)
    readmitted = await result(operated, "readmit")
    assert (readmitted["readmitted"], readmitted["reason"]) == (True, "readiness_passed")
    [row] = readmitted["status"]["tiers"]
    assert (row["state"], row["reason"], row["ready"]) == ("admitting", None, True)
    assert row["readiness_reason"] == "replicas_ready"
    assert len(operated.engine("a").probes) == probes + 2
    assert (await operated.stream()).status == 200


async def test_a_readmission_asks_anew_and_believes_nothing_old(operated, autojump_clock):
    """Decision 43: an engine that changed since its last probe is not readmitted."""
    await result(operated, "quiesce", reason="upgrade")
    for member in "ab":
        operated.engine(member).models = models("another-model")
    readmitted = await result(operated, "readmit")
    assert (readmitted["readmitted"], readmitted["reason"]) == (False, "replicas_unavailable")
    [row] = readmitted["status"]["tiers"]
    assert (row["state"], row["reason"], row["ready"]) == ("quiesced", "upgrade", False)
    assert [member["state"] for member in row["members"]] == ["admitting", "admitting"]
    assert operated.disk.saved == [Intents().quiesced(TIER, None, "upgrade")]
    assert (await operated.stream()).status == 503


async def test_one_ready_member_is_enough(operated, autojump_clock):
    """A tier comes back on what it has; the other member is probed on."""
    await result(operated, "quiesce")
    operated.engine("b").health = REFUSED
    readmitted = await result(operated, "readmit")
    assert readmitted["readmitted"]
    assert readmitted["status"]["tiers"][0]["readiness_reason"] == "replicas_partial"


@pytest.fixture
def patient():
    """A configuration in which only ten timeouts in a row are a verdict."""
    return config_of(replica_tier(), server=SERVER, availability_failures=10)


async def test_a_hanging_member_is_waited_for_with_a_bound(patient, autojump_clock):
    """Two probe timeouts and a second, then what is known counts."""
    async with open_operated(patient) as operated:
        await result(operated, "quiesce")
        operated.engine("b").health = STALLED_WRITE
        began = trio.current_time()
        assert (await result(operated, "readmit"))["readmitted"]
        assert trio.current_time() == pytest.approx(began + 3)


async def test_nothing_known_in_time_is_no_pass(patient, autojump_clock):
    """Members that hang are not ready, and the answer says so."""
    async with open_operated(patient) as operated:
        await result(operated, "quiesce", "a")
        operated.engine("a").health = STALLED_WRITE
        readmitted = await result(operated, "readmit", "a")
        assert (readmitted["readmitted"], readmitted["reason"]) == (False, "probe_pending")


async def test_a_readmission_of_what_is_open_disturbs_nobody(operated, autojump_clock):
    """It is not probed anew, so no caller of an open tier is refused meanwhile."""
    probes = len(operated.engine("a").probes)
    eligible = (await operated.snapshot()).members
    readmitted = await result(operated, "readmit")
    assert (readmitted["readmitted"], readmitted["reason"]) == (True, "readiness_passed")
    assert len(operated.engine("a").probes) == probes
    assert (await operated.snapshot()).members == eligible
    operated.engine("a").health = operated.engine("b").health = reply(status=500)
    await trio.sleep(6)
    readmitted = await result(operated, "readmit")
    assert (readmitted["readmitted"], readmitted["reason"]) == (False, "replicas_unavailable")
    assert operated.disk.saved == []


async def test_a_quiesced_member_gets_nothing_and_the_other_all(operated, autojump_clock):
    """R011: member quiesce sends every request to the peer."""
    snapshot = await result(operated, "quiesce", "a", reason="disk")
    assert snapshot == {
        "tier_id": TIER,
        "member_id": "a",
        "state": "quiesced",
        "reason": "disk",
        "active_requests": 0,
        "max_concurrency": None,
        "draining": False,
    }
    for _ in range(3):
        assert (await operated.stream()).status == 200
    assert (len(operated.engine("a").chats), len(operated.engine("b").chats)) == (0, 3)
    assert (await result(operated, "drain", "a"))["drained"]
    [row] = await operated.rows(b"tier_id=primary&member_id=a")
    assert (row["member_id"], row["state"], row["ready"]) == ("a", "quiesced", True)


async def test_a_members_intent_is_independent_of_its_tiers(operated, autojump_clock):
    """Readmitting the tier leaves the member quiesced, and the other way round."""
    await result(operated, "quiesce", "a", reason="disk")
    await result(operated, "quiesce", reason="upgrade")
    assert (await result(operated, "readmit"))["readmitted"]
    [row] = await operated.rows()
    assert [one["state"] for one in row["members"]] == ["quiesced", "admitting"]
    assert row["state"] == "admitting"
    await result(operated, "quiesce", reason="upgrade")
    assert (await result(operated, "readmit", "a"))["readmitted"]
    [row] = await operated.rows()
    assert [one["state"] for one in row["members"]] == ["admitting", "admitting"]
    assert row["state"] == "quiesced"


async def test_a_direct_tier_behaves_the_same(autojump_clock):
    """R011: without a probe it is readmitted, and the answer says what nobody checked."""
    async with open_operated(config_of(direct_tier(), server=SERVER)) as operated:
        snapshot = await result(operated, "quiesce", reason="upgrade")
        assert snapshot.keys() == {"tier_id", "state", "reason", "active_requests", "draining"}
        assert (await result(operated, "drain"))["drained"]
        readmitted = await result(operated, "readmit")
        assert (readmitted["readmitted"], readmitted["reason"]) == (
            True,
            "identity_not_configured",
        )
        assert (await operated.stream()).status == 200


@pytest.mark.parametrize("action", ["quiesce", "readmit", "drain"])
async def test_a_dry_run_changes_nothing(action, operated, autojump_clock):
    """It says what would be done, after every check."""
    answer = await operated.order(action, dry_run=True)
    assert answer.json == {
        "applied": False,
        "dry_run": True,
        "action": action,
        "tier_id": TIER,
    }
    answer = await operated.order(action, "b", dry_run=True)
    assert answer.json["member_id"] == "b"
    assert (await operated.order(action, "c", dry_run=True)).code == "invalid_transition"
    assert operated.disk.saved == []
    assert (await operated.snapshot()).phase == "admitting"


async def test_changes_are_told_once(operated, autojump_clock):
    """One event line and one bus event for each change of intent, none for a repetition."""
    with capture_logs() as lines, operated.house.bus.subscribe(8) as feed:
        for action, member in [("quiesce", None), ("quiesce", None), ("quiesce", "b")]:
            await result(operated, action, member, reason="canary")
        await result(operated, "readmit")
        events: list[object] = []
        with trio.move_on_after(1):
            while True:
                events.append(await feed.receive())
    assert [event for event in events if isinstance(event, IntentChanged)] == [
        IntentChanged(TIER, None, is_quiesced=True),
        IntentChanged(TIER, B, is_quiesced=True),
        IntentChanged(TIER, None, is_quiesced=False),
    ]
    told = [line for line in lines if line["event"] == "intent_changed"]
    assert [(line["tier"], line["member"], line["quiesced"]) for line in told] == [
        (TIER, None, True),
        (TIER, B, True),
        (TIER, None, False),
    ]
    assert "canary" not in str(lines)


async def test_what_is_intended_is_saved_first(operated, autojump_clock):
    """Whole, in order, and only when something changed; a new reason is a change."""
    for reason in ("one", "one", "two"):
        await result(operated, "quiesce", reason=reason)
    await result(operated, "quiesce", "a", reason="three")
    await result(operated, "readmit")
    one, two = (Intents().quiesced(TIER, None, reason) for reason in ("one", "two"))
    member = Intents().quiesced(TIER, A, "three")
    assert operated.disk.saved == [one, two, two.quiesced(TIER, A, "three"), member]


@pytest.mark.parametrize("action", ["quiesce", "readmit"])
async def test_what_cannot_be_saved_is_not_done(action, operated, autojump_clock):
    """A 503 that changed nothing, on disk or in the tier."""
    if action == "readmit":
        await result(operated, "quiesce")
    before = (await operated.snapshot()).phase
    operated.disk.is_full = True
    answer = await operated.order(action)
    assert (answer.status, answer.code) == (503, "transition_failed")
    assert answer.headers[b"retry-after"] == b"1"
    assert (await operated.snapshot()).phase == before
    operated.disk.is_full = False
    await result(operated, action)
    assert (await operated.snapshot()).phase != before


async def test_one_change_at_a_time(autojump_clock):
    """A second change is a 503 at once; the status is not in its way."""
    async with open_operated(disk=Disk(delay_s=5)) as operated, trio.open_nursery() as nursery:
        nursery.start_soon(operated.order, "quiesce")
        await trio.sleep(1)
        busy = await operated.order("quiesce", "a")
        assert (busy.status, busy.code) == (503, "server_busy")
        assert busy.headers[b"retry-after"] == b"1"
        assert len(await operated.rows()) == 1
        await trio.sleep(5)
        assert (await operated.order("quiesce", "a")).status == 200


async def test_four_orders_at_once(operated, autojump_clock):
    """A fifth is a 503, while chat is served as ever; a place comes back with its answer."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(operated.stream)
        await trio.sleep(1)
        await result(operated, "quiesce", "a")
        for _ in range(2):
            nursery.start_soon(partial(operated.order, "drain", "a", timeout=60))
        await trio.sleep(1)
        with ExitStack() as held:
            for _ in range(2):
                got = await operated.house.management.places.enter(LEGACY_CLIENT)
                assert isinstance(got, Permit)
                held.enter_context(got)
            assert (await operated.order("status")).code == "server_busy"
            assert (await operated.stream()).status == 200
    assert (await operated.order("status")).status == 200


async def test_a_failed_door_is_no_full_one(operated, autojump_clock, monkeypatch):
    """If the management's own actor has failed, coming back in a second does not help."""

    def broken(*_):
        raise RuntimeError("canary")

    monkeypatch.setattr(AdmissionState, "handle", broken)
    answer = await operated.order("quiesce")
    assert (answer.status, answer.code) == (503, "transition_failed")


async def test_a_failed_tier_is_not_opened(operated, monkeypatch, autojump_clock):
    """It can be quiesced for the next start, and neither drained nor readmitted in this one."""

    def broken(*_):
        raise RuntimeError("canary")

    monkeypatch.setattr(TierState, "handle", broken)
    await operated.stream()
    monkeypatch.undo()
    assert (await result(operated, "quiesce", reason="upgrade"))["state"] == "failed"
    for action in ("drain", "readmit"):
        answer = await operated.order(action)
        assert (answer.status, answer.code) == (503, "transition_failed")
    assert operated.disk.saved == [Intents().quiesced(TIER, None, "upgrade")]


async def _keep(work, answers) -> None:
    answers.append(await work())
