"""The demo's stage: a live table on a terminal, plain lines anywhere else."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anvil_trio.demo.show import Audience, Turn
from anvil_trio.names import MemberId

__all__ = ["ConsoleStage"]


class ConsoleStage:
    """Shows the demo on `console`. No thread draws: the screen changes only as the show goes on."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def introduce(self, engines: Mapping[MemberId, str], router_url: str, config_path: str) -> None:
        """Name the engines and the router, with their addresses."""
        for name, url in engines.items():
            self._say(f"engine {name}  {url}")
        self._say(f"router    {router_url}")
        self._say(f"config    {config_path}\n")

    @contextmanager
    def curtain(self) -> Iterator[Audience]:
        """The audience of the show; a live table stays on the screen when the block is left."""
        if not self._console.is_terminal:
            yield _Lines(self._console)
            return
        with Live(console=self._console, auto_refresh=False) as live:
            yield _LiveTable(live)

    def keep_serving(self, commands: Sequence[str]) -> None:
        """Say what to try while the router goes on."""
        self._say("\nThe router serves until Ctrl-C. Try:\n")
        for command in commands:
            self._say(f"{command}\n")

    def _say(self, line: str) -> None:
        self._console.out(line, highlight=False)
        self._console.file.flush()


class _Lines:
    """One line per request; a streamed reply is written piece by piece as it comes."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def asked(self, turn: Turn) -> None:
        pass

    def heard(self, turn: Turn, piece: str) -> None:
        start = f"{turn.number}  stream: " if turn.text == piece else ""
        self._write(f"{start}{_printable(piece)}")

    def answered(self, turn: Turn) -> None:
        text = "" if turn.is_stream else f"  {_printable(turn.text)}"
        start = "\n" if turn.is_stream and turn.text else ""
        self._write(f"{start}{turn.number}  {_who(turn)}  {turn.elapsed_s:.2f} s{text}\n")

    def _write(self, text: str) -> None:
        self._console.out(text, end="", highlight=False)
        self._console.file.flush()


class _LiveTable:
    """A table that is drawn again at every step."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._turns: list[Turn] = []

    def asked(self, turn: Turn) -> None:
        self._turns.append(turn)
        self._draw()

    def heard(self, _turn: Turn, _piece: str) -> None:
        self._draw()

    def answered(self, _turn: Turn) -> None:
        self._draw()

    def _draw(self) -> None:
        self._live.update(_table(self._turns), refresh=True)


def _table(turns: Sequence[Turn]) -> Table:
    table = Table("#", "kind", "member", "seconds", "reply")
    for turn in turns:
        kind = "stream" if turn.is_stream else "plain"
        seconds = f"{turn.elapsed_s:.2f}" if turn.is_over else ""
        member = _who(turn) if turn.is_over else "..."
        table.add_row(str(turn.number), kind, member, seconds, _reply(turn))
    return table


def _reply(turn: Turn) -> Text:
    """A streamed reply in full, any other in one line, so that the table fits a small terminal."""
    text = _printable(turn.text)
    return Text(text) if turn.is_stream else Text(text, no_wrap=True, overflow="ellipsis")


def _who(turn: Turn) -> str:
    if turn.problem is not None:
        return f"failed: {turn.problem}"
    return turn.member or "the only one"


def _printable(text: str) -> str:
    """One line that cannot steer the terminal, whatever an engine says."""
    return "".join(char if char.isprintable() else " " for char in text)
