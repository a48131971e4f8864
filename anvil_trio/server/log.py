"""The server's event lines: fixed names, bounded fields, nothing that came from a client (R012)."""

import trio

from anvil_trio.bugs import where_raised
from anvil_trio.log_events import LogEvent, log_event

__all__ = ["ServerLog"]

_PAUSE_LINES_S = 10.0


class ServerLog:
    """One line for each failure: the kind of exception and its place in code, never its text."""

    def __init__(self) -> None:
        self._next_pause_line = 0.0

    def connection_failed(self, error: BaseException) -> None:
        """A bug, or input that hit one, ended one connection."""
        log_event(LogEvent.CONNECTION_FAILED, **where_raised(error))

    def application_failed(self, error: BaseException) -> None:
        """The application raised; that request is over."""
        log_event(LogEvent.APPLICATION_FAILED, **where_raised(error))

    def accept_paused(self, reason: str) -> None:
        """No more connections for now: `file_descriptors` or `max_connections`.

        Said at most every ten seconds, however often accepting pauses.
        """
        now = trio.current_time()
        if now >= self._next_pause_line:
            self._next_pause_line = now + _PAUSE_LINES_S
            log_event(LogEvent.ACCEPT_PAUSED, reason=reason)
