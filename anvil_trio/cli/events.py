"""Event lines on stderr: JSON where a program reads them, plain where a person does."""

import logging
import sys

import structlog

__all__ = ["set_up_events"]


def set_up_events(*, least: int = logging.INFO) -> None:
    """Send the event lines of the whole process to stderr, those below level `least` left out.

    Called once, before anything runs. Lines carry a UTC time, a level and the fields the event
    was given, and nothing that is derived from an exception (R012).
    """
    is_terminal = sys.stderr.isatty()
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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _without_exceptions(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    for key in ("exc_info", "exception", "stack_info"):
        event.pop(key, None)
    return event
