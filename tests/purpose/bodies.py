"""Requests to services and what their engines answer."""

import json
from base64 import b64encode

from anvil_trio.purpose.waves import with_wav_head
from tests.support.fake_upstream import END, SSE, Head, Reply, reply

__all__ = [
    "BOUNDARY",
    "GOOD",
    "KIND",
    "PATHS",
    "SOUND",
    "Asked",
    "ask_of",
    "embedding",
    "form",
    "named_hearing",
    "named_speech",
    "rerank",
    "speech",
]

BOUNDARY = "b--1"
SOUND = with_wav_head(b"\x01\x02" * 800, 16_000)

PATHS = {
    "embeddings": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "transcriptions": "/v1/audio/transcriptions",
    "named_transcriptions": "/v1/audio/transcriptions",
    "translations": "/v1/audio/translations",
    "speech": "/v1/audio/speech",
    "named_speech": "/v1/audio/speech",
    "transcription_events": "/v1/audio/transcriptions",
    "speech_events": "/v1/audio/speech",
}
"""Every kind of request, by a name of its own."""

KIND = {
    "embeddings": "embedding",
    "rerank": "rerank",
    **dict.fromkeys(PATHS.keys() - {"embeddings", "rerank"}, "stt"),
    **dict.fromkeys(("speech", "named_speech", "speech_events"), "tts"),
}
"""What each of them is in a record."""

Asked = tuple[bytes, bytes]
"""A content type and a body."""

_JSON = b"application/json"


def _json(**fields: object) -> Asked:
    return _JSON, json.dumps({
        key: value for key, value in fields.items() if value is not ...
    }).encode()


def embedding(model: object = "embed.main", given: object = "hello", **more: object) -> Asked:
    """A request for embeddings; `...` leaves a field out."""
    return _json(model=model, input=given, **more)


def rerank(model: object = "rank.main", documents: object = ("a", "b"), **more: object) -> Asked:
    """A request for an order of documents."""
    return _json(**{"model": model, "query": "which", "documents": documents, **more})


def form(model: bytes | None = b"stt.main", *, file: bytes = SOUND, **fields: str) -> Asked:
    """OpenAI's form: the file first, the model last, the boundary quoted."""
    parts = [
        b'Content-Disposition: form-data; name="file"; filename="s\xc3\xb6und.wav"\r\n'
        b"Content-Type: audio/wav\r\n\r\n" + file,
        *(
            f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
            for name, value in fields.items()
        ),
    ]
    if model is not None:
        parts.append(b'Content-Disposition: form-data; name="model"\r\n\r\n' + model)
    mark = f"--{BOUNDARY}".encode()
    body = b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts) + mark + b"--\r\n"
    return b'multipart/form-data; boundary="%s"' % BOUNDARY.encode(), body


def speech(model: object = "tts.main.one", **more: object) -> Asked:
    """OpenAI's request to speak."""
    return _json(**{"model": model, "input": "say it", "voice": "alloy", **more})


def named_speech(**more: object) -> Asked:
    """The request to speak that names a purpose or a route."""
    return _json(**{"purpose": "tts", "input": "say it", "response_format": "pcm16", **more})


def named_hearing(**more: object) -> Asked:
    """The request to hear that names a purpose or a route."""
    audio = b64encode(SOUND).decode()
    given = {"purpose": "stt", "audio_b64": audio, "format": "wav", "is_final": True}
    return _json(**{**given, **more})


_GOOD_ASKS = {
    "embeddings": embedding(),
    "rerank": rerank(),
    "transcriptions": form(),
    "translations": form(),
    "named_transcriptions": named_hearing(),
    "speech": speech(),
    "named_speech": named_speech(),
    "transcription_events": form(stream="true"),
    "speech_events": speech(stream_format="sse"),
}


def ask_of(kind: str) -> Asked:
    """A good request of each kind."""
    return _GOOD_ASKS[kind]


def _events(*events: object) -> Reply:
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Reply((Head(200, SSE), *lines, END))


_AUDIO = ((b"content-type", b"audio/pcm"),)
_HEARD = reply(b'{"text": "heard"}')

GOOD: dict[str, Reply] = {
    "embeddings": reply(
        json.dumps({
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
            "model": "embed.main",
            "usage": {"prompt_tokens": 3, "total_tokens": 3},
        }).encode()
    ),
    "rerank": reply(b'{"results": [{"index": 1, "relevance_score": 0.5}]}'),
    "transcriptions": _HEARD,
    "translations": _HEARD,
    "named_transcriptions": _HEARD,
    "speech": Reply((Head(200, _AUDIO), b"\x01\x02", b"\x03\x04", END)),
    "named_speech": Reply((Head(200, _AUDIO), b"\x01\x02", b"\x03\x04", END)),
    "transcription_events": _events(
        {"type": "transcript.text.delta", "delta": "he"},
        {"type": "transcript.text.done", "text": "heard"},
    ),
    "speech_events": _events(
        {"type": "speech.audio.delta", "audio": "AQI="}, {"type": "speech.audio.done"}
    ),
}
"""What an engine answers to each of them."""
