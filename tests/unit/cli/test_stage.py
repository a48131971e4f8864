"""What the demo looks like."""

import io

from rich.console import Console

from anvil_trio.cli.stage import ConsoleStage
from anvil_trio.demo.show import Turn
from anvil_trio.names import MemberId


def screen(*, is_terminal):
    """A console that writes into memory."""
    return Console(
        file=io.StringIO(), force_terminal=is_terminal, width=80, soft_wrap=True, color_system=None
    )


def played(console, turn, pieces=()):
    """What is on the screen when one turn was played."""
    with ConsoleStage(console).curtain() as audience:
        audience.asked(turn)
        for piece in pieces:
            turn.text += piece
            audience.heard(turn, piece)
        turn.elapsed_s, turn.is_over = 0.5, True
        audience.answered(turn)
    return console.file.getvalue()


def test_a_plain_turn_is_one_line():
    """Number, member, seconds and text; brackets are text, not markup."""
    turn = Turn(1, "?", is_stream=False, text="the [bold] train", member="a")
    assert played(screen(is_terminal=False), turn) == "1  a  0.50 s  the [bold] train\n"


def test_a_streamed_turn_is_written_as_it_comes():
    """The pieces follow one another, then the line says who it was."""
    turn = Turn(5, "?", is_stream=True, member="a")
    shown = played(screen(is_terminal=False), turn, ["The night", " train."])
    assert shown == "5  stream: The night train.\n5  a  0.50 s\n"


def test_a_failed_turn_says_why():
    """The code of the failure stands where the member would."""
    turn = Turn(2, "?", is_stream=False, problem="service_unavailable")
    assert played(screen(is_terminal=False), turn) == "2  failed: service_unavailable  0.50 s  \n"


def test_a_direct_tier_has_no_member_to_name():
    """A tier of one engine says so."""
    turn = Turn(1, "?", is_stream=False, text="x")
    assert played(screen(is_terminal=False), turn) == "1  the only one  0.50 s  x\n"


def test_a_terminal_gets_a_table():
    """Each turn is a row with its member and its text, drawn again as it grows."""
    shown = played(
        screen(is_terminal=True), Turn(5, "?", is_stream=True, member="a"), ["The ", "x"]
    )
    last = shown[shown.rindex("member") :]
    assert "a" in last
    assert "0.50" in last
    assert "The x" in last


def test_an_engine_cannot_steer_the_terminal():
    """Escape sequences and line breaks in a reply are blanks on the screen."""
    turn = Turn(1, "?", is_stream=False, text="a\x1b[2Jb\nc", member="a")
    assert played(screen(is_terminal=False), turn) == "1  a  0.50 s  a [2Jb c\n"


def test_the_players_are_introduced_with_their_addresses():
    """Engines by name, then the router and its configuration."""
    console = screen(is_terminal=False)
    engines = {MemberId("a"): "http://127.0.0.1:1", MemberId("b"): "http://127.0.0.1:2"}
    ConsoleStage(console).introduce(engines, "http://127.0.0.1:3", "router.toml")
    assert console.file.getvalue() == (
        "engine a  http://127.0.0.1:1\nengine b  http://127.0.0.1:2\n"
        "router    http://127.0.0.1:3\nconfig    router.toml\n\n"
    )


def test_long_commands_are_not_wrapped():
    """A curl line stays one line, so that it can be pasted."""
    console = screen(is_terminal=True)
    command = "curl " + "x" * 300
    ConsoleStage(console).keep_serving([command])
    assert command in console.file.getvalue()
