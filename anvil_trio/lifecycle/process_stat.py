"""What the kernel says of a process, and which process a pid file means. Pure."""

from dataclasses import dataclass

import msgspec

__all__ = ["PidFile", "Stat", "is_same", "parse_pid_file", "parse_stat"]

_DEAD = frozenset("ZXx")
_STATE, _GROUP, _START = 0, 2, 19  # among the fields behind the command's name


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of /proc/PID/stat, as far as it matters here."""

    pid: int
    state: str
    group: int
    start_time: int
    """In ticks since the machine was started: with the pid, it names a process for good."""

    @property
    def is_alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        return self.state not in _DEAD


class PidFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which process was started, and since which start of the machine its numbers count."""

    pid: int
    start_time: int
    boot_id: str
    mark: str = ""
    """What it and all that it started have in their environment."""


def parse_stat(text: str) -> Stat | None:
    """The line's fields; None for what is no such line. A command's name may hold anything."""
    head, separator, tail = text.rpartition(")")
    number, fields = head.partition(" ")[0], tail.split()
    if not separator or len(fields) <= _START:
        return None
    try:
        return Stat(int(number), fields[_STATE], int(fields[_GROUP]), int(fields[_START]))
    except ValueError:
        return None


def parse_pid_file(data: bytes) -> PidFile | None:
    """What a pid file says; None if it is damaged, or names what can be no serve."""
    try:
        found = msgspec.json.decode(data, type=PidFile)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if found.pid > 1 else None


def is_same(told: PidFile, found: Stat) -> bool:
    """Whether the process that has this pid now is the one that was written down."""
    return (told.pid, told.start_time) == (found.pid, found.start_time)
