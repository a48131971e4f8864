"""The one pure part of the server: the lengths of HTTP/2 frames."""

import pytest

from anvil_trio.server.frames import FrameGuard

pytestmark = pytest.mark.wire

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(length: int, claimed: int | None = None) -> bytes:
    """A frame of zeros, which may lie about its length."""
    return (length if claimed is None else claimed).to_bytes(3) + bytes(6 + length)


GOOD = PREFACE + frame(0) + frame(17) + frame(100) + frame(0) + frame(0) + frame(3)


def test_frames_within_the_limit_are_accepted_however_they_are_split():
    """`FrameGuard.accepts`: every two-way split of good frames is accepted."""
    for at in range(len(GOOD)):
        guard = FrameGuard(100)
        assert guard.accepts(GOOD[:at])
        assert guard.accepts(GOOD[at:])


def test_a_frame_that_claims_too_much_is_seen_in_its_head_however_it_is_split():
    """`FrameGuard.accepts`: one byte too many is refused before any of the frame is there."""
    bad = GOOD + frame(0, claimed=101)
    for at in range(len(bad)):
        guard = FrameGuard(100)
        assert not (guard.accepts(bad[:at]) and guard.accepts(bad[at:]))
