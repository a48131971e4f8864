"""What the kernel says of a process."""

from pathlib import Path

__all__ = ["fields_of", "is_alive", "members_of"]


def fields_of(pid: int) -> list[str]:
    """What the kernel says of a process, behind its name; nothing if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """Whether a process runs and is no zombie."""
    return fields_of(pid)[:1] not in ([], ["Z"], ["X"])


def members_of(group: int) -> list[int]:
    """The processes of one group that run."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if fields_of(pid)[2:3] == [str(group)] and is_alive(pid)]
