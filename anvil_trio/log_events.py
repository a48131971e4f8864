"""Every event line that the router may write on stderr: its name, level and fields (R012)."""

import logging
from contextlib import suppress
from enum import Enum

import structlog

__all__ = ["LogEvent", "log_event"]

_log = structlog.get_logger()


class LogEvent(Enum):
    """The closed list of event lines.

    Fields hold ids from the configuration or made by the router, numbers, and words from closed
    lists: nothing that a client, an engine or an exception said.
    """

    ACCEPT_PAUSED = ("accept_paused", logging.WARNING, ("reason",))
    ACTIVATION_FAILED = ("activation_failed", logging.ERROR, ("kind", "where"))
    ACTOR_FAILED = ("actor_failed", logging.ERROR, ("actor", "kind", "where"))
    ADMISSION_STATE_IGNORED = ("admission_state_ignored", logging.WARNING, ("entries",))
    ADMISSION_STATE_WRITE_FAILED = ("admission_state_write_failed", logging.WARNING, ())
    APPLICATION_FAILED = ("application_failed", logging.ERROR, ("kind", "where"))
    CLIENT_DISCONNECTED = ("client_disconnected", logging.INFO, ("request_id",))
    CLIENT_LIMIT_IDLE = ("client_limit_idle", logging.WARNING, ("setting",))
    CONFIG_ACTIVATED = ("config_activated", logging.INFO, ("sha256",))
    CONFIG_REFUSED = ("config_refused", logging.ERROR, ("problems",))
    CONNECTION_FAILED = ("connection_failed", logging.ERROR, ("kind", "where"))
    DECISION_LOG_ROTATION_FAILED = ("decision_log_rotation_failed", logging.WARNING, ())
    DECISION_LOG_WRITE_FAILED = ("decision_log_write_failed", logging.WARNING, ("failures",))
    DRAINING = ("draining", logging.INFO, ())
    EXCHANGE_FAILED = ("exchange_failed", logging.ERROR, ("request_id", "kind", "where"))
    INTENT_CHANGED = ("intent_changed", logging.INFO, ("tier", "member", "quiesced"))
    OPERATIONS_NOT_SAVED = ("operations_not_saved", logging.ERROR, ())
    READINESS_CHANGED = (
        "readiness_changed",
        logging.INFO,
        ("tier", "member", "ready", "reason"),
    )
    STOPPED = ("stopped", logging.INFO, ())
    UPSTREAM_FAILED = ("upstream_failed", logging.INFO, ("request_id", "outcome"))

    TRACE_SPANS_DROPPED = ("trace_spans_dropped", logging.WARNING, ("dropped", "reason"))

    SERVICE_SKIPPED = ("service_skipped", logging.WARNING, ("service",))

    def __init__(self, line: str, level: int, fields: tuple[str, ...]) -> None:
        self.line = line
        self.level = level
        self.fields = fields


def log_event(event: LogEvent, **fields: str | int | list[str] | None) -> None:
    """Write one line with exactly the fields that the list names.

    It never raises into whoever had something to say: where stderr is closed, broken or full the
    line is lost.
    """
    assert fields.keys() == set(event.fields), "an event line has the fields of its entry"
    with suppress(OSError, ValueError):  # ValueError: the stream is closed
        _log.log(event.level, event.line, **fields)
