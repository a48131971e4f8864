"""Texts of callers on pages."""

import pytest

from anvil_trio.views.text import show_text


def test_what_is_not_there_is_a_dash():
    """A missing text is `-`."""
    assert show_text(None) == "-"


@pytest.mark.parametrize("text", ["session-1", "sky", "task_1", "eyJ", "AKIA", "hf_x", "risk-1"])
def test_an_id_is_shown(text):
    """What only resembles a key's beginning is an id."""
    assert show_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "sk-abc",
        "sk_live_1",
        "ghp_x1",
        "github_pat_1",
        "glpat-1",
        "xoxb-1",
        "hf_abcdefghijklmnop",
        "AIzaSyA1234567890abc",
        "AKIA0123456789ABCDEF",
        "eyJhbGciOiJI.eyJ",
    ],
)
def test_what_looks_like_a_credential_is_not_shown(text):
    """R012: a key that a caller sent as an id by mistake is nobody else's to read."""
    assert show_text(text) == "[redacted]"
