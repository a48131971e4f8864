"""How many file descriptors a process may have open, and how many held streams take."""

import resource

__all__ = ["allowed", "needed"]

_SPARE = 256


def needed(streams: int) -> int:
    """For a router that relays so many at once: two connections each, and some for the rest."""
    return 2 * streams + _SPARE


def allowed(wanted: int) -> int:
    """Raise what this process and its children may open to `wanted`, or as far as it goes.

    The hard limit is raised too where that is permitted. Returns how many of `wanted` may be open.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    is_enough = hard == resource.RLIM_INFINITY or hard >= wanted
    for limits in ((wanted, hard),) if is_enough else ((wanted, wanted), (hard, hard)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        except (OSError, ValueError):
            continue
        return limits[0]
    return soft
