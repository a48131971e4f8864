"""Which process a pid file means, and which it does not."""

import pytest

from anvil_trio.lifecycle.process_stat import (
    PidFile,
    Stat,
    is_same,
    parse_pid_file,
    parse_stat,
)

TAIL = "S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2"


@pytest.mark.parametrize("name", ["engine", "a b", "x) S 1 (y", ") 7 (", ""])
def test_a_commands_name_may_hold_anything(name):
    """Brackets and blanks in a process's name move no field."""
    assert parse_stat(f"4711 ({name}) {TAIL}\n") == Stat(4711, "S", 42, 98765)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4711",
        "4711 (x)",
        "4711 (x) S 1",
        f"no (x) {TAIL}",
        f"1 (x) {TAIL}".replace("98765", "soon"),
    ],
)
def test_what_is_no_such_line_is_nothing(text):
    """A line that is cut or not a number's is not guessed at."""
    assert parse_stat(text) is None


@pytest.mark.parametrize(
    ("state", "is_alive"), [("R", True), ("D", True), ("Z", False), ("X", False)]
)
def test_a_zombie_does_not_run(state, is_alive):
    """Nobody waits for a serve that has ended."""
    assert Stat(1, state, 1, 1).is_alive is is_alive


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"pid": 5, "start_time": 6}',
        b'{"pid": "5", "start_time": 6, "boot_id": ""}',
        b'{"pid": 5, "start_time": 6, "boot_id": "", "more": 1}',
        b'{"pid": 1, "start_time": 6, "boot_id": ""}',
        b'{"pid": 0, "start_time": 6, "boot_id": ""}',
        b'{"pid": -7, "start_time": 6, "boot_id": ""}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_pid_file_names_nobody(data):
    """Nor does one that would mean the first process, a group or all processes."""
    assert parse_pid_file(data) is None


def test_a_process_is_known_by_pid_and_start_time():
    """One number alone may be another process's by now."""
    told = parse_pid_file(b'{"pid": 5, "start_time": 6, "boot_id": "b"}')
    assert told == PidFile(5, 6, "b")
    assert is_same(told, Stat(5, "S", 5, 6))
    assert not is_same(told, Stat(5, "S", 5, 7))
    assert not is_same(told, Stat(6, "S", 5, 6))
