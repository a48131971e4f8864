"""What an exit status means."""

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """The exit statuses of every command."""

    SUCCESS = 0
    EXECUTION = 1
    """The command was understood and could not be done."""
    USAGE = 2
    """The command line or a file it names is not valid."""
    SAFETY = 3
    """The command changes something and was not confirmed."""
    TRANSPORT = 4
    """The router could not be asked, or did not answer as a router does."""
    PARTIAL = 5
    """Of several things to do some were done and some could not be."""
    INTERRUPTED = 130
    """Ctrl-C before the command was under way: 128 and the signal's number, as shells expect."""
