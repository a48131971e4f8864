"""`anvil-serving` as real child processes."""

import os
import select
import signal
import subprocess
import sys
from contextlib import contextmanager

START_S = 30
END_S = 60


def ran(*arguments, **environ):
    """The finished process of one command line, with what it wrote as text."""
    return subprocess.run(
        [sys.executable, "-m", "anvil_trio", *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )


class Running:
    """A command that runs: its lines as they come, a signal, and its end."""

    def __init__(self, process):
        self.process = process
        self._unread = b""

    def line(self):
        """The next line of stdout, which must come in time."""
        while b"\n" not in self._unread:
            pipe = self.process.stdout.fileno()
            assert select.select([pipe], [], [], START_S)[0], "no line in time"
            data = os.read(pipe, 65536)
            assert data, "the command ended"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def lines_until(self, start):
        """All lines up to the first that begins with `start`, and that one."""
        lines = [self.line()]
        while not lines[-1].startswith(start):
            lines.append(self.line())
        return lines

    def ended(self, number=signal.SIGTERM):
        """Send a signal; the status, and the rest of stdout and stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=END_S)
        return self.process.returncode, (self._unread + out).decode(), err.decode()


@contextmanager
def running(*arguments, **environ):
    """A command that is killed when the block is left, if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "anvil_trio", *arguments],
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                process.kill()


def url_of(line):
    """The URL in `listening on URL`."""
    assert line.startswith("listening on ")
    return line.removeprefix("listening on ")
