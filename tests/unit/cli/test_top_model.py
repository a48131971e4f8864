"""What `router top` knows after each page and message, and what its screen shows of it."""

import io
import json

import pytest
from rich.console import Console

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.top_model import (
    FeedChanged,
    FeedState,
    Polled,
    RouterRow,
    Told,
    Top,
    Unreached,
    advance,
    rate_of,
)
from anvil_trio.cli.top_replies import (
    DrainTold,
    Ended,
    IntentTold,
    Lost,
    ReadinessTold,
    read_message,
    read_tiers,
)
from anvil_trio.cli.top_view import LAST_SHOWN, render_top
from anvil_trio.decisions.events import (
    Decided,
    DrainChanged,
    DrainPhase,
    IntentChanged,
    ReadinessChanged,
)
from anvil_trio.names import DIRECT_MEMBER, TierId
from anvil_trio.views.capacity import project_capacity
from anvil_trio.views.feed import render_dropped, render_event, render_heartbeat, render_hello
from anvil_trio.views.signals import unwatched
from tests.unit.decisions.samples import ranked_record
from tests.unit.views.samples import (
    DIRECT,
    DOWN,
    REPLICA,
    A,
    B,
    busy_engine,
    capacity_config,
    config,
    direct_snapshot,
    ranked_engines,
    read,
    replica_snapshot,
    verdicts,
)

CANARY = "canary-5417"
SNAPSHOTS = {REPLICA: replica_snapshot(2, 1), DIRECT: direct_snapshot(5)}
PAGE = read(project_capacity(config(), verdicts(b=DOWN)[0], SNAPSHOTS, busy_engine))
TOP = advance(Top(), Polled(read_tiers(PAGE), RouterRow("0.1.0", 3_725)))


def heard(top, *messages, at=0.0):
    """The state after these messages."""
    for message in messages:
        top = advance(top, Told(message, at))
    return top


def tier(top, tier_id=REPLICA):
    """One tier's row."""
    return next(row for row in top.tiers if row.tier_id == tier_id)


def member(top, member_id):
    """One member's row."""
    return next(row for row in tier(top).members if row.member_id == member_id)


def ended(tokens=10, member_id=None, **changed):
    """A request that ended well."""
    told = {
        "route": "llm.primary",
        "tier_id": REPLICA,
        "member_id": member_id,
        "outcome": "success",
        "latency_ms": 1500,
        "first_content_ms": 250,
        "completion_tokens": tokens,
        **changed,
    }
    return Ended(**told)


def screen(top, now=0.0, *, is_live=True):
    """What is on the screen."""
    console = Console(file=io.StringIO(), width=120, color_system=None, highlight=False)
    console.print(render_top(top, now, is_live=is_live))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line(text, word):
    """The one line that has a word."""
    [found] = [each for each in text.splitlines() if word in each]
    return " ".join(found.replace("│", " ").split())


def test_the_page_gives_tiers_and_members():
    """Readiness, intent, counts and the engine's own rate, as the router shows them."""
    replica, direct = TOP.tiers
    assert (replica.tier_id, replica.is_ready, replica.reason) == (
        REPLICA,
        True,
        "replicas_partial",
    )
    assert (replica.state, replica.active, replica.is_draining) == ("admitting", 3, False)
    assert [(one.member_id, one.is_ready, one.active) for one in replica.members] == [
        (A, True, 2),
        (B, False, 1),
    ]
    assert (direct.tier_id, direct.active, direct.members) == (DIRECT, 5, ())
    assert direct.ceiling is None


def test_a_capacity_tiers_members_have_ceilings():
    """And an intent of their own."""
    snapshots = {REPLICA: replica_snapshot(2, 1)}
    page = project_capacity(capacity_config(), verdicts()[0], snapshots, ranked_engines)
    [row, *_] = read_tiers(read(page))
    assert row.ceiling is not None
    assert [one.state for one in row.members] == ["admitting", "admitting"]
    assert all(one.ceiling is not None for one in row.members)


def test_counts_that_are_not_known_are_not_zero():
    """T005.1: a tier whose counters are unavailable shows a question mark."""
    page = project_capacity(config(), verdicts()[0], {}, unwatched)
    top = advance(Top(), Polled(read_tiers(read(page)), None))
    assert (tier(top).active, member(top, A).active) == (None, None)
    assert "?" in line(screen(top), DIRECT)


@pytest.mark.parametrize("page", [{}, {"data": 1}, {"data": [{"id": "a"}]}])
def test_what_is_no_page_is_refused(page):
    """A reply of another shape is none of a router."""
    with pytest.raises(CommandFailed):
        read_tiers(page)


def message_of(text):
    """What a message of the feed is read as."""
    return read_message(json.loads(text))


def test_every_message_of_the_feed_is_understood():
    """As the router renders them; hello and heartbeats tell nothing that is shown."""
    told = message_of(render_event(Decided(ranked_record())))
    assert isinstance(told, Ended)
    assert (told.outcome, told.tier_id) == ("success", "primary")
    change = ReadinessChanged(REPLICA, A, is_ready=False, reason="health_transport")
    assert message_of(render_event(change)) == ReadinessTold(REPLICA, A, False, "health_transport")
    assert message_of(render_event(IntentChanged(DIRECT, None, is_quiesced=True))) == IntentTold(
        DIRECT, None, True
    )
    for phase in DrainPhase:
        told = message_of(render_event(DrainChanged(REPLICA, B, phase)))
        assert told == DrainTold(REPLICA, B, phase is DrainPhase.STARTED)
    assert message_of(render_dropped(3)) == Lost(3)
    assert message_of(render_heartbeat()) is None
    assert message_of(render_hello("1", 15)) is None


@pytest.mark.parametrize(
    "message",
    [{}, {"type": CANARY}, {"type": "dropped", "count": -1}, {"type": "request", "record": 1}],
)
def test_what_is_no_message_is_passed_over(message):
    """A newer router may tell more than we know."""
    assert read_message(message) is None


def test_a_change_is_seen_at_once():
    """Of a member, of a tier, of a tier without members; others stay as they are."""
    top = heard(TOP, ReadinessTold(REPLICA, B, True, "identity_passed"))
    assert (member(top, B).is_ready, member(top, A)) == (True, member(TOP, A))
    top = heard(TOP, ReadinessTold(DIRECT, None, False, "health_transport"))
    assert (tier(top, DIRECT).is_ready, tier(top)) == (False, tier(TOP))
    top = heard(TOP, IntentTold(REPLICA, None, True), IntentTold(REPLICA, A, True))
    assert (tier(top).state, member(top, A).state, member(top, B).state) == (
        "quiesced",
        "quiesced",
        None,
    )
    assert tier(heard(top, IntentTold(REPLICA, None, False))).state == "admitting"
    top = heard(TOP, DrainTold(REPLICA, None, True), DrainTold(REPLICA, B, True))
    assert (tier(top).is_draining, member(top, B).is_draining) == (True, True)
    assert not tier(heard(top, DrainTold(REPLICA, None, False))).is_draining


def test_what_is_not_there_is_not_made_up():
    """A message about an unknown tier or member changes nothing."""
    assert heard(TOP, IntentTold("other", None, True), IntentTold(REPLICA, "z", True)) == TOP


def test_the_page_has_the_last_word():
    """What was heard in between is overwritten; what was counted stays."""
    top = heard(TOP, IntentTold(REPLICA, None, True), ended(), Lost(2), Lost(3))
    top = advance(top, Polled(TOP.tiers, TOP.router))
    assert (tier(top).state, len(top.seen), top.lost_events) == ("admitting", 1, 5)


def test_what_only_the_feed_tells_outlives_a_page():
    """A round robin's members have no intent on the page; what was heard ends with the feed."""
    top = heard(TOP, IntentTold(REPLICA, A, True), DrainTold(REPLICA, A, True))
    for _ in range(2):
        top = advance(top, Polled(TOP.tiers, TOP.router))
        assert (member(top, A).state, member(top, A).is_draining) == ("quiesced", True)
        assert member(top, B).state is None
    assert advance(top, FeedChanged(FeedState.LIVE)).tiers == top.tiers
    top = advance(top, FeedChanged(FeedState.LOST))
    assert member(top, A) == member(TOP, A)
    top = advance(top, Polled(TOP.tiers, TOP.router))
    assert top.tiers == TOP.tiers


def test_a_page_that_tells_a_members_intent_is_believed():
    """A capacity tier's, whatever was heard before."""
    page = project_capacity(
        capacity_config(), verdicts()[0], {REPLICA: replica_snapshot(2, 1)}, ranked_engines
    )
    tiers = read_tiers(read(page))
    top = heard(advance(Top(), Polled(tiers, None)), IntentTold(REPLICA, A, True))
    assert member(top, A).state == "quiesced"
    assert member(advance(top, Polled(tiers, None)), A).state == "admitting"


def test_a_router_that_goes_away_is_said_to():
    """The last that was known stays on the screen until it answers again."""
    top = advance(TOP, Unreached("router_unreachable"))
    assert top.tiers == TOP.tiers
    assert "router_unreachable, trying again" in screen(top)
    assert advance(top, Polled((), None)).problem is None


def test_tokens_per_second_are_those_of_ten_seconds():
    """By tier and by member; unknown counts are none, and older answers count no more."""
    top = heard(TOP, ended(30, "a"), ended(None, "a"), at=5.0)
    top = heard(top, ended(20, "b"), ended(40, tier_id=DIRECT), at=10.0)
    assert rate_of(top, 15.0, REPLICA) == 5.0
    assert rate_of(top, 15.0, REPLICA, "a") == 3.0
    assert rate_of(top, 15.01, REPLICA) == 2.0
    assert rate_of(top, 20.01, REPLICA) == 0.0
    assert rate_of(top, 12.0, DIRECT) == 4.0


def test_what_is_kept_is_bounded():
    """However many requests end."""
    top = TOP
    for number in range(2_500):
        top = heard(top, ended(number))
    assert len(top.seen) == 2_000
    assert top.seen[-1].ended.completion_tokens == 2_499


def test_the_screen_shows_it_all():
    """Router, tiers, members and the last outcomes, the newest first."""
    top = advance(TOP, FeedChanged(FeedState.LIVE))
    top = heard(top, ended(100, A), at=1.0)
    top = heard(top, ended(None, None, outcome="rejected", latency_ms=None), Lost(7), at=2.0)
    text = screen(top, 61.5)
    head = text.splitlines()[0]
    assert "0.1.0  up 1 h 2 min  feed: live  lost events: 7" in head
    assert "no (health_transport)" in line(text, f"│ {B}")
    assert line(text, f"│ {REPLICA}").startswith("replicas partly admitting 3")
    assert line(text, "1 min 0 s ago") == "1 min 0 s ago llm.primary member-a success 1.50 0.25 100"
    assert "rejected" in line(text, "59 s ago")
    assert text.index("59 s ago") < text.index("1 min 0 s ago")
    for _ in range(20):
        top = heard(top, ended(), at=61.0)
    assert screen(top, 61.5).count(" ago") == LAST_SHOWN


def test_a_snapshot_claims_nothing_that_takes_the_feed():
    """No outcomes, no rate of ours, no word of a feed."""
    text = screen(heard(TOP, ended(100, A)), is_live=False)
    assert "feed" not in text
    assert "ago" not in text
    assert line(text, f"│ {A}").endswith("yes 2")


def test_the_engines_own_rate_comes_first():
    """Where the page has one; it counts answers that have not ended."""
    assert tier(TOP, DIRECT).engine_rate is None
    page = PAGE | {"data": [dict(each) for each in PAGE["data"]]}
    page["data"][-1]["live"] = {"generation_throughput_tokens_per_second": 12.34}
    top = advance(Top(), Polled(read_tiers(page), None))
    assert "12.3" in line(screen(top, is_live=False), DIRECT)


def test_nothing_that_a_router_says_steers_the_terminal():
    """Names are shown whole or as a question mark; markup is text."""
    escape = "\x1b[2J"
    page = json.loads(json.dumps(PAGE).replace(f'"{A}"', '"[bold]x"'))
    page["data"][0]["readiness"]["reason"] = escape
    page["data"][1]["id"] = f"{escape}{CANARY}"
    top = advance(Top(), Polled(read_tiers(page), RouterRow(None, 5)))
    told = read_message({
        "type": "request",
        "record": {"route": escape, "workload_outcome": escape},
    })
    assert told is not None
    text = screen(heard(top, told))
    assert "\x1b" not in text
    assert CANARY not in text
    assert "[bold]x" in text


def test_a_direct_tiers_readiness_has_no_member():
    """As the feed tells it."""
    text = render_event(
        ReadinessChanged(TierId("direct"), DIRECT_MEMBER, is_ready=True, reason="health_passed")
    )
    assert message_of(text) == ReadinessTold("direct", None, True, "health_passed")
