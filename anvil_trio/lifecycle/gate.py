"""Becomes a serve once its starter has written down who it is. Run as a script, by its path.

Whoever is told `1` on the descriptor becomes the command; a starter that was killed before closes
it, and then nothing was started. So there is no serve whose process id nobody knows.
"""

import os
import sys

__all__ = ["main"]

_NOT_STARTED = 127


def main(descriptor: str, folder: str, *command: str) -> None:
    """Wait for the word, then go to `folder` and become `command`; does not return."""
    try:
        with os.fdopen(int(descriptor), "rb", buffering=0) as pipe:
            is_told = pipe.read(1) == b"1"
        if is_told:
            os.chdir(folder)
            os.execvp(command[0], command)  # noqa: S606 - no shell is the point
    except OSError:
        pass  # what is wrong with the command is for its starter to find: it is not there
    os._exit(_NOT_STARTED)


if __name__ == "__main__":
    main(*sys.argv[1:])
