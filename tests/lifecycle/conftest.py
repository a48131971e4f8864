"""What every test of this folder has."""

import pytest


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Thousands of files are written here, and no power fails."""
    monkeypatch.setattr("os.fsync", lambda _: None)
