"""`router top` at work on virtual time: it polls, follows, draws, and outlives a router."""

import io
from collections.abc import Callable, Mapping

import pytest
import trio
from pydantic import JsonValue
from rich.console import Console

from anvil_trio.cli import top as top_module
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import main
from anvil_trio.cli.reach import Reach
from anvil_trio.cli.router_client import ACCESS_DENIED
from anvil_trio.cli.top import RouterSource, show_once, watch
from anvil_trio.cli.top_model import Polled, RouterRow
from anvil_trio.cli.top_replies import read_tiers
from tests.unit.cli.pages import STATUS
from tests.unit.cli.test_top_model import PAGE

AWAY = Failure(Exit.TRANSPORT, "router_unreachable", "The router did not answer.")
POLLED = Polled(read_tiers(PAGE), RouterRow("0.1.0", 60))
REACH = Reach("http://127.0.0.1:1", "token", 1.0)


class Scripted:
    """A source whose pages and feed a test has in its hands."""

    def __init__(self) -> None:
        self.answer: Polled | Failure = POLLED
        self.polls: list[float] = []
        self.follows: list[float] = []
        self.is_worth_it = True
        self.tell: Callable[[Mapping[str, JsonValue]], None] = lambda _message: None
        self.broken = trio.Event()

    async def poll(self) -> Polled:
        await trio.lowlevel.checkpoint()
        self.polls.append(trio.current_time())
        if isinstance(self.answer, Failure):
            raise CommandFailed(self.answer)
        return self.answer

    async def follow(
        self, on_open: Callable[[], None], tell: Callable[[Mapping[str, JsonValue]], None]
    ) -> bool:
        await trio.lowlevel.checkpoint()
        self.follows.append(trio.current_time())
        if self.is_worth_it and self.answer is POLLED:
            on_open()
            self.tell = tell
            await self.broken.wait()
            self.broken = trio.Event()
        return self.is_worth_it


class Screen:
    """A terminal in memory; `last` is what was drawn since `clear`."""

    def __init__(self) -> None:
        self.console = Console(
            file=io.StringIO(), force_terminal=True, width=120, height=40, color_system=None
        )

    @property
    def last(self) -> str:
        assert isinstance(self.console.file, io.StringIO)
        return self.console.file.getvalue()

    def clear(self) -> None:
        assert isinstance(self.console.file, io.StringIO)
        self.console.file.seek(0)
        self.console.file.truncate()


async def drawn(screen: Screen) -> str:
    """What is drawn next."""
    screen.clear()
    await trio.sleep(1.3)
    return screen.last


@pytest.fixture
async def watched():
    """A view at work, its source and its screen."""
    source, screen = Scripted(), Screen()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, source, screen.console, 1.0)
        await trio.sleep(0.01)
        yield source, screen
        nursery.cancel_scope.cancel()
    assert screen.last.endswith("\x1b[?25h\x1b[?1049l")  # the terminal is as it was


async def test_pages_are_read_at_the_interval(watched, autojump_clock):
    """And drawn; the feed is followed once."""
    source, screen = watched
    await trio.sleep(3.5)
    assert source.polls == [0, 1, 2, 3]
    assert source.follows == [0]
    text = await drawn(screen)
    assert "feed: live" in text
    assert "member-a" in text


async def test_a_change_is_on_the_screen_before_the_next_page(watched, autojump_clock):
    """Readiness, intent and the outcome of a request, as soon as the feed tells."""
    source, screen = watched
    await trio.sleep(0.05)
    source.tell({"type": "intent", "tier_id": "direct", "member_id": None, "quiesced": True})
    source.tell({"type": "request", "record": {"route": "chat", "workload_outcome": "timeout"}})
    source.tell({"type": "heartbeat"})
    source.tell({"type": "unheard-of"})
    screen.clear()
    await trio.sleep(0.3)
    assert source.polls == [0]
    text = screen.last
    assert "quiesced" in text
    assert "timeout" in text


async def test_a_router_that_restarts_is_waited_for(watched, autojump_clock):
    """Its last state stays, with the reason; pages and feed come back by themselves."""
    source, screen = watched
    source.answer = AWAY
    source.broken.set()
    await trio.sleep(5)
    text = await drawn(screen)
    assert "router_unreachable, trying again" in text
    assert "feed: lost, trying again" in text
    assert "member-a" in text
    follows = len(source.follows)
    assert follows >= 5
    source.answer = POLLED
    await trio.sleep(2)
    text = await drawn(screen)
    assert "router_unreachable" not in text
    assert "feed: live" in text


async def test_a_feed_that_is_not_ours_is_asked_for_seldom(autojump_clock):
    """The pages go on; the screen says why nothing is told."""
    source, screen = Scripted(), Screen()
    source.is_worth_it = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, source, screen.console, 1.0)
        await trio.sleep(59)
        assert source.follows == [0, 30]
        assert len(source.polls) == 59
        assert "feed: not for this credential" in await drawn(screen)
        nursery.cancel_scope.cancel()


async def test_a_credential_that_is_no_longer_taken_ends_it(autojump_clock):
    """No new try would change that; the terminal is as it was."""
    source, screen = Scripted(), Screen()
    async with trio.open_nursery() as nursery:
        ends: list[Failure | None] = []

        async def run() -> None:
            ends.append(await watch(source, screen.console, 1.0))

        nursery.start_soon(run)
        await trio.sleep(0.5)
        source.answer = ACCESS_DENIED
        await trio.sleep(1)
        assert ends == [ACCESS_DENIED]
    assert screen.last.endswith("\x1b[?25h\x1b[?1049l")


async def test_a_router_that_never_answered_is_a_failure(autojump_clock):
    """Before anything is drawn."""
    source, screen = Scripted(), Screen()
    source.answer = AWAY
    with pytest.raises(CommandFailed):
        await watch(source, screen.console, 1.0)
    with pytest.raises(CommandFailed):
        await show_once(source, screen.console)
    assert screen.last == ""


async def test_one_snapshot(autojump_clock):
    """One look at the pages, without control sequences, and no feed."""
    source = Scripted()
    console = Console(file=io.StringIO(), width=120)
    await show_once(source, console)
    assert (source.polls, source.follows) == ([0], [])
    assert isinstance(console.file, io.StringIO)
    assert "member-a" in console.file.getvalue()
    assert "\x1b" not in console.file.getvalue()


@pytest.mark.parametrize(
    ("status", "router"),
    [(STATUS, RouterRow("0.1.0", 60)), (ACCESS_DENIED, None), (AWAY, AWAY), ({}, None)],
    ids=["both", "a client's", "away", "no page"],
)
async def test_what_is_polled(status, router, monkeypatch):
    """Capacity, and the status where the credential opens it."""

    async def ask(question):
        page = PAGE if question.path == "/v1/models/capacity" else status
        if isinstance(page, Failure):
            raise CommandFailed(page)
        return page

    monkeypatch.setattr(top_module, "ask_router", ask)
    if status in (AWAY, {}):
        with pytest.raises(CommandFailed):
            await RouterSource(REACH).poll()
    else:
        assert await RouterSource(REACH).poll() == Polled(read_tiers(PAGE), router)


def said(capsys, monkeypatch, source, *arguments):
    """The status of one command line without a terminal, and what it wrote."""
    monkeypatch.setattr(top_module, "RouterSource", lambda _reach: source)
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    with pytest.raises(SystemExit) as ended:
        main(["router", "top", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize("arguments", [[], ["--once"]])
def test_without_a_terminal_it_is_one_snapshot(arguments, capsys, monkeypatch):
    """With or without being told so."""
    code, out, err = said(capsys, monkeypatch, Scripted(), *arguments)
    assert (code, err) == (0, "")
    assert "member-a" in out


def test_a_failure_is_told_in_fixed_words(capsys, monkeypatch):
    """Status 4 for a router that is away, 2 for a command line that leads nowhere."""
    source = Scripted()
    source.answer = AWAY
    code, out, err = said(capsys, monkeypatch, source)
    assert (code, out, err) == (4, "", "router_unreachable: The router did not answer.\n")
    code, _, err = said(capsys, monkeypatch, source, "--router-url", "http://canary")
    assert (code, err.split(":")[0]) == (2, "invalid_router_url")
    assert said(capsys, monkeypatch, source, "--interval", "0.1")[0] == 2


def test_a_terminal_that_cannot_be_drawn_on_gets_a_snapshot(monkeypatch):
    """A dumb one shows nothing of a live view; it is told what is, once, and the command ends."""
    shown, screen = [], Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert screen.is_terminal
    assert screen.is_dumb_terminal

    async def once(_source, console):
        await trio.lowlevel.checkpoint()
        shown.append(console)

    monkeypatch.setattr("anvil_trio.cli.top.open_console", lambda: screen)
    monkeypatch.setattr("anvil_trio.cli.top.show_once", once)
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    with pytest.raises(SystemExit) as ended:
        main(["router", "top", "--router-url", "http://127.0.0.1:1"])
    assert (ended.value.code, shown) == (0, [screen])
