"""What the tests share that start commands as processes."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> Iterator[None]:
    """A run in the background ignores Ctrl-C, and so would every command that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
