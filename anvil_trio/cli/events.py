"""Event lines on stderr: JSON where a program reads them, plain where a person does.

A line is worth less than a request: where stderr is closed, broken or full it is dropped. It never
raises into whoever had something to say, and never makes the one thread of the process wait.
"""

import logging
import os
import select
import sys
from typing import TextIO, cast

import structlog

__all__ = ["set_up_events"]


class _Stderr:
    """Writes whole lines to `stream` where it takes them now; else they are dropped."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._writable = select.poll()
        try:
            self._file = -1 if stream is None else stream.fileno()
        except (OSError, ValueError):  # a stream in memory, or a closed one
            self._file = -1
        else:
            if self._file >= 0:
                self._writable.register(self._file, select.POLLOUT)

    def write(self, text: str) -> None:
        """Write `text`, or drop it. A pipe that says it has room takes a page without waiting."""
        try:
            if self._file < 0:
                if self._stream is not None:
                    self._stream.write(text)
            elif self._writable.poll(0):
                os.write(self._file, text.encode(errors="backslashreplace"))
        except (OSError, ValueError):
            pass

    def flush(self) -> None:
        """Nothing is held back."""


def set_up_events(*, least: int = logging.INFO) -> None:
    """Send the event lines of the whole process to stderr, those below level `least` left out.

    Called once, before anything runs. Lines carry a UTC time, a level and the fields the event
    was given, and nothing that is derived from an exception (R012).
    """
    stream: TextIO | None = sys.stderr  # None where descriptor 2 was closed
    is_terminal = stream is not None and stream.isatty()
    renderer = (
        structlog.dev.ConsoleRenderer() if is_terminal else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_exceptions,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Stderr(stream))),
        cache_logger_on_first_use=True,
    )


def _without_exceptions(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    for key in ("exc_info", "exception", "stack_info"):
        event.pop(key, None)
    return event
