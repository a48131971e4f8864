"""The one pure part of the server: the heads of HTTP/2 frames."""

import pytest

from anvil_trio.server.frames import MOST_CONTROL_FRAMES, WINDOW_S, FrameGuard, Verdict

pytestmark = pytest.mark.wire

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(length: int, claimed: int | None = None, *, kind: int = 1, flags: int = 0) -> bytes:
    """A frame of zeros, which may lie about its length; HEADERS unless told otherwise."""
    head = (length if claimed is None else claimed).to_bytes(3) + bytes((kind, flags))
    return head + bytes(4 + length)


PING = frame(8, kind=6)


GOOD = PREFACE + frame(0) + frame(17) + frame(100) + frame(0) + frame(0) + frame(3)


def test_frames_within_the_limit_are_accepted_however_they_are_split():
    """`FrameGuard.judge`: every two-way split of good frames is accepted."""
    for at in range(len(GOOD)):
        guard = FrameGuard(100)
        assert guard.judge(GOOD[:at], 0) is Verdict.GOOD
        assert guard.judge(GOOD[at:], 0) is Verdict.GOOD


def test_a_frame_that_claims_too_much_is_seen_in_its_head_however_it_is_split():
    """`FrameGuard.judge`: one byte too many is refused before any of the frame is there."""
    bad = GOOD + frame(0, claimed=101)
    for at in range(len(bad)):
        guard = FrameGuard(100)
        verdicts = {guard.judge(bad[:at], 0), guard.judge(bad[at:], 0)}
        assert Verdict.TOO_LONG in verdicts


@pytest.mark.parametrize("kind", [2, 3, 4, 6], ids=["PRIORITY", "RST_STREAM", "SETTINGS", "PING"])
def test_one_control_frame_too_many_is_seen(kind):
    """`FrameGuard.judge`: as many as may be are good, in whatever pieces; one more is not."""
    guard = FrameGuard(100)
    assert guard.judge(PREFACE, 0) is Verdict.GOOD
    for _ in range(MOST_CONTROL_FRAMES):
        assert guard.judge(frame(0, kind=kind), 1) is Verdict.GOOD
    assert guard.judge(frame(0, kind=kind), WINDOW_S - 0.1) is Verdict.TOO_MANY


def test_a_new_window_begins_when_the_old_one_is_over():
    """`FrameGuard.judge`: a client that spreads its frames is never ended."""
    guard = FrameGuard(100)
    guard.judge(PREFACE, 0)
    for window in range(5):
        assert guard.judge(PING * MOST_CONTROL_FRAMES, window * WINDOW_S) is Verdict.GOOD


@pytest.mark.parametrize(
    "good",
    [frame(0, kind=8), frame(0, kind=1), frame(1, kind=0), frame(0, kind=0, flags=1)],
    ids=["WINDOW_UPDATE", "HEADERS", "DATA", "the end of a body"],
)
def test_frames_that_carry_something_are_not_counted(good):
    """`FrameGuard.judge`: however many updates of windows, heads and parts of bodies may come."""
    guard = FrameGuard(100)
    guard.judge(PREFACE, 0)
    assert guard.judge(good * (2 * MOST_CONTROL_FRAMES), 0) is Verdict.GOOD


def test_empty_parts_of_a_body_are_counted():
    """`FrameGuard.judge`: DATA without a byte and without an end carries nothing."""
    guard = FrameGuard(100)
    guard.judge(PREFACE, 0)
    assert guard.judge(frame(0, kind=0) * (MOST_CONTROL_FRAMES + 1), 0) is Verdict.TOO_MANY
