"""Event lines."""

import io
import json
import logging
import os
import sys
from contextlib import suppress

import pytest
import structlog

from anvil_trio.cli.events import set_up_events


@pytest.fixture
def pipe(monkeypatch):
    """Makes a pipe stderr, sets event lines up, and gives both of its ends."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as outlet, os.fdopen(writer, "w") as inlet:
        monkeypatch.setattr(sys, "stderr", inlet)
        set_up_events()
        yield outlet, inlet
    structlog.reset_defaults()


@pytest.fixture
def lines(monkeypatch):
    """Sets event lines up and gives what stderr then gets; they are as before afterwards."""

    def begin(*, is_terminal=False, **options):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        set_up_events(**options)
        return stream

    yield begin
    structlog.reset_defaults()


def test_events_are_json_lines_where_nobody_looks(lines):
    """One object per line, with its level, a UTC time and its own fields."""
    stream = lines()
    structlog.get_logger().info("readiness_changed", tier="t", ready=True)
    line = json.loads(stream.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "readiness_changed", "level": "info", "tier": "t", "ready": True}


def test_events_say_nothing_of_exceptions(lines):
    """Not even an event that is given one (R012)."""
    stream = lines()
    structlog.get_logger().error("actor_failed", exc_info=ValueError("canary-5417"))
    assert "actor_failed" in stream.getvalue()
    assert "canary-5417" not in stream.getvalue()


def test_events_below_the_level_are_left_out(lines):
    """A demo on a terminal is not disturbed by what is merely worth knowing."""
    stream = lines(least=logging.WARNING)
    structlog.get_logger().info("readiness_changed")
    assert stream.getvalue() == ""


def test_events_are_plain_on_a_terminal(lines):
    """A person reads words, not JSON."""
    stream = lines(is_terminal=True)
    structlog.get_logger().info("readiness_changed")
    assert "readiness_changed" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_events_reach_a_pipe_that_is_read(pipe):
    """A supervisor that reads stderr gets whole lines, at once."""
    outlet, _inlet = pipe
    structlog.get_logger().info("readiness_changed")
    assert json.loads(outlet.readline())["event"] == "readiness_changed"


def test_events_are_dropped_where_nobody_reads_any_more(pipe):
    """A supervisor that has gone takes no request and no probe with it."""
    outlet, _inlet = pipe
    outlet.close()
    structlog.get_logger().info("readiness_changed")


def test_events_are_dropped_where_stderr_is_full(pipe):
    """A supervisor that has stopped reading stops nobody here."""
    _outlet, inlet = pipe
    os.set_blocking(inlet.fileno(), False)
    with suppress(BlockingIOError):
        while True:
            os.write(inlet.fileno(), bytes(4096))
    os.set_blocking(inlet.fileno(), True)
    structlog.get_logger().info("readiness_changed")


def test_events_are_dropped_without_stderr(monkeypatch):
    """A process that was started with descriptor 2 closed has no stderr at all."""
    monkeypatch.setattr(sys, "stderr", None)
    set_up_events()
    try:
        structlog.get_logger().info("readiness_changed")
    finally:
        structlog.reset_defaults()
