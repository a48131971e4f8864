"""What the engine makes of sound: a text is spoken as a tone, a tone is heard as its pitch."""

import hashlib
import io
import math
import struct
import wave
from base64 import b64encode
from dataclasses import dataclass

import msgspec

from anvil_trio.demo.chat import Refusal
from anvil_trio.purpose.multipart import Form, parse_form
from anvil_trio.purpose.waves import with_wav_head

__all__ = ["SAMPLE_RATE", "Sounded", "answer_hearing", "answer_speech", "pitch_of", "tone_of"]

SAMPLE_RATE = 24_000
_TONE_S = 0.2
_LOWEST_HZ, _STEPS, _STEP_HZ = 220, 40, 20
_LOUD = 12_000
_PIECES = 4
_SAMPLE_BYTES = 2
_EVENTS = b"text/event-stream"
_JSON = b"application/json"
_NO_REQUEST = Refusal(400, "The body is not a request of this kind.", "invalid_request_error")
_NO_MODEL = Refusal(404, "The model does not exist.", "model_not_found")
_NO_SOUND = Refusal(400, "The file is no WAV file of 16-bit samples.", "invalid_request_error")


@dataclass(frozen=True, slots=True)
class Sounded:
    """A reply in pieces, each of which takes as long as a token."""

    content_type: bytes
    pieces: tuple[bytes, ...]


class _Speech(msgspec.Struct):
    model: str
    input: str
    response_format: str = "mp3"
    stream_format: str = "audio"


def tone_of(text: str) -> bytes:
    """Raw samples of a tone that equal texts share."""
    drawn = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0]
    hertz = _LOWEST_HZ + drawn % _STEPS * _STEP_HZ
    count = round(SAMPLE_RATE * _TONE_S)
    turn = 2 * math.pi * hertz / SAMPLE_RATE
    samples = [round(_LOUD * math.sin(turn * each)) for each in range(count)]
    return struct.pack(f"<{count}h", *samples)


def pitch_of(samples: bytes, sample_rate: int) -> int:
    """How many times a second the samples rise through zero, to the nearest ten."""
    values = [value for (value,) in struct.iter_unpack("<h", samples)]
    rises = [at for at in range(1, len(values)) if values[at - 1] < 0 <= values[at]]
    if len(rises) < _SAMPLE_BYTES:
        return 0
    return round((len(rises) - 1) * sample_rate / (rises[-1] - rises[0]) / 10) * 10


def answer_speech(body: bytes, model: str) -> Sounded | Refusal:
    """The tone that is spoken: raw samples for `pcm`, for every other format a WAV file."""
    try:
        asked = msgspec.json.decode(body, type=_Speech)
    except msgspec.DecodeError:
        return _NO_REQUEST
    if asked.model != model:
        return _NO_MODEL
    samples = tone_of(asked.input)
    is_raw = asked.response_format == "pcm"
    sound = samples if is_raw else with_wav_head(samples, SAMPLE_RATE)
    size = -(-len(sound) // _PIECES // _SAMPLE_BYTES) * _SAMPLE_BYTES
    parts = [sound[at : at + size] for at in range(0, len(sound), size)]
    if asked.stream_format == "sse":
        deltas = [
            _event({"type": "speech.audio.delta", "audio": b64encode(part).decode("ascii")})
            for part in parts
        ]
        return Sounded(_EVENTS, (*deltas, _event({"type": "speech.audio.done"})))
    return Sounded(b"audio/pcm" if is_raw else b"audio/wav", tuple(parts))


def answer_hearing(content_type: bytes, body: bytes, model: str) -> Sounded | Refusal:
    """What is heard, as JSON, as text or, streamed, word by word."""
    form = parse_form(content_type, body)
    if not isinstance(form, Form):
        return _NO_REQUEST
    fields = {part.name: body[part.start : part.end] for part in form.parts}
    if fields.get("model", b"").decode("latin-1") != model:
        return _NO_MODEL
    text = _heard(fields.get("file", b""))
    if text is None:
        return _NO_SOUND
    if fields.get("stream") == b"true":
        deltas = [
            _event({"type": "transcript.text.delta", "delta": word + " "}) for word in text.split()
        ]
        return Sounded(_EVENTS, (*deltas, _event({"type": "transcript.text.done", "text": text})))
    if fields.get("response_format") == b"text":
        return Sounded(b"text/plain", (f"{text}\n".encode(),))
    return Sounded(_JSON, (msgspec.json.encode({"text": text}),))


def _heard(file: bytes) -> str | None:
    try:
        with wave.open(io.BytesIO(file), "rb") as sound:
            if sound.getsampwidth() != _SAMPLE_BYTES or sound.getnchannels() != 1:
                return None
            samples = sound.readframes(sound.getnframes())
            return f"A tone of {pitch_of(samples, sound.getframerate())} hertz."
    except (wave.Error, EOFError):
        return None


def _event(event: dict[str, str]) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
