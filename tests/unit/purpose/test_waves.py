"""WAV files: their head, and how long they last."""

import pytest

from anvil_trio.purpose.waves import duration_ms, with_wav_head


def test_samples_get_a_head_that_says_how_long_they_last():
    """One channel of 16 bits."""
    made = with_wav_head(b"\x00\x01" * 8000, 16_000)
    assert made[:4] == b"RIFF"
    assert made.endswith(b"\x00\x01" * 8000)
    assert duration_ms(made) == 500


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RIFF",
        b"OggS" * 20,
        with_wav_head(b"", 8000)[:20],
        with_wav_head(b"\x00\x01", 8000).replace((8000).to_bytes(4, "little"), bytes(4)),
        with_wav_head(b"\x00\x01", 8000).replace(b"\x01\x00\x01\x00", b"\x03\x00\x01\x00"),
    ],
)
def test_what_cannot_be_read_lasts_nobody_knows_how_long(data):
    """No WAV file, half of one, without a rate, of another kind of samples."""
    assert duration_ms(data) is None
