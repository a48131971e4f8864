"""Text to speech, in two shapes: OpenAI's own, and JSON in and out that names a route."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from anvil_trio.decisions.words import RequestKind
from anvil_trio.dialects.json_span import with_text
from anvil_trio.dialects.raw_json import encode, is_given
from anvil_trio.errors import Problem
from anvil_trio.purpose.asks import Ask, Finished, Manner, Outgoing, Told
from anvil_trio.purpose.json_body import check_known, members_of, read_model, read_text
from anvil_trio.purpose.media_types import BYTES, EVENTS, JSON
from anvil_trio.purpose.named import find_route, read_choice
from anvil_trio.purpose.sizes import TOO_LARGE, Sizes

__all__ = ["NamedSpeech", "Speech", "parse_speech"]

_JSON = JSON.encode()
_ANY = b"*/*"
_KNOWN = frozenset({"route", "purpose", "input", "response_format", "voice"})
_SAMPLE_BYTES = 2
_NULL = msgspec.Raw(b"null")


def _is_audio(media: str) -> bool:
    return media == BYTES or media.startswith("audio/")


@dataclass(frozen=True, slots=True)
class Speech:
    """OpenAI's request: what comes back is audio, handed on as it comes, or events if asked for."""

    name: str
    wants_events: bool
    body: bytes = field(repr=False)
    kind: RequestKind = RequestKind.TTS
    path: str = "audio/speech"
    subject: str = "input"
    names_route: bool = False

    def outgoing(self, model: str) -> Outgoing:
        """The body as it came, but for the model's name."""
        accept = EVENTS.encode() if self.wants_events else _ANY
        return Outgoing(_JSON, with_text(self.body, "model", text=model), accept)

    def manner(self, media: str) -> Manner | None:
        """An engine that cannot speak in events answers with audio."""
        if media == EVENTS:
            return Manner.EVENTS if self.wants_events else None
        return Manner.BYTES if _is_audio(media) else None

    def finish(self, media: str, body: bytes, told: Told) -> Finished | Problem | None:  # noqa: ARG002
        """No reply is read whole."""
        return None


@dataclass(frozen=True, slots=True)
class NamedSpeech:
    """The request that names a route: raw samples come back, and JSON goes out."""

    name: str | None
    text: str = field(repr=False)
    voice: str | None = None
    kind: RequestKind = RequestKind.TTS
    path: str = "audio/speech"
    subject: str = "input"
    names_route: bool = True

    def outgoing(self, model: str) -> Outgoing:
        """A request for raw samples."""
        body = {"model": model, "input": self.text, "response_format": "pcm"}
        if self.voice is not None:
            body["voice"] = self.voice
        return Outgoing(_JSON, encode(body), _ANY)

    def manner(self, media: str) -> Manner | None:
        """Audio, and whole."""
        return Manner.WHOLE if _is_audio(media) else None

    def finish(self, media: str, body: bytes, told: Told) -> Finished | Problem | None:  # noqa: ARG002
        """The samples in base64, with what is known of them; half a sample is no reply."""
        if not body or len(body) % _SAMPLE_BYTES:
            return None
        reply = {
            "audio_b64": b64encode(body).decode("ascii"),
            "format": "pcm16",
            "sample_rate": told.sample_rate,
            "model": told.name,
            "request_id": told.request_id,
            "latency_ms": told.latency_ms,
        }
        return Finished(_JSON, encode(reply))


def parse_speech(body: bytes, sizes: Sizes) -> Ask | Problem:
    """A request to speak, in the shape that it names its service in."""
    members = members_of(body)
    if isinstance(members, Problem):
        return members
    text = read_text(members, "input")
    if isinstance(text, Problem):
        return text
    if len(text) > sizes.max_text_chars:
        return TOO_LARGE
    return _own(body, members) if "model" in members else _named(members, text)


def _own(body: bytes, members: Mapping[str, msgspec.Raw]) -> Ask | Problem:
    name = read_model(body, members)
    manner = read_choice(members, "stream_format", ("audio", "sse"), "audio")
    for value in (name, manner):
        if isinstance(value, Problem):
            return value
    assert isinstance(name, str)
    return Speech(name, manner == "sse", body)


def _named(members: Mapping[str, msgspec.Raw], text: str) -> Ask | Problem:
    route = find_route(members, "tts")
    kind = read_choice(members, "response_format", ("pcm16",), "pcm16")
    voice = read_text(members, "voice") if is_given(members.get("voice", _NULL)) else None
    for value in (check_known(members, _KNOWN), route, kind, voice):
        if isinstance(value, Problem):
            return value
    assert not isinstance(route, Problem)
    assert not isinstance(voice, Problem)
    return NamedSpeech(route, text, voice)
