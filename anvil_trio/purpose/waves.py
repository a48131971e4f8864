"""Raw samples as a WAV file, and how long a WAV file lasts."""

import io
import wave

__all__ = ["duration_ms", "with_wav_head"]

_SAMPLE_BYTES = 2


def with_wav_head(samples: bytes, sample_rate: int) -> bytes:
    """16-bit samples of one channel as a WAV file."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(_SAMPLE_BYTES)
        file.setframerate(sample_rate)
        file.writeframes(samples)
    return made.getvalue()


def duration_ms(data: bytes) -> int | None:
    """How long a WAV file says that it lasts; None if it cannot be read. Never raises."""
    try:
        with wave.open(io.BytesIO(data), "rb") as file:
            return round(1000 * file.getnframes() / file.getframerate())
    except (wave.Error, EOFError, ZeroDivisionError, ValueError):
        return None
