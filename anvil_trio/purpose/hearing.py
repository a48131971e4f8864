"""Speech to text, in two shapes: OpenAI's form, and JSON in and out that names a route."""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from anvil_trio.decisions.words import RequestKind
from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.raw_json import ABSENT, encode, is_given
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.purpose.asks import Ask, Finished, Manner, Outgoing, Told, invalid
from anvil_trio.purpose.json_body import BROKEN, check_known, members_of, read_text
from anvil_trio.purpose.media_types import EVENTS, JSON, TEXTS, shown_type
from anvil_trio.purpose.multipart import (
    Form,
    content_type_of,
    parse_form,
    render_form,
)
from anvil_trio.purpose.named import find_route, read_choice
from anvil_trio.purpose.sizes import TOO_LARGE, Sizes
from anvil_trio.purpose.waves import duration_ms, with_wav_head

__all__ = ["Hearing", "NamedHearing", "parse_hearing_form", "parse_hearing_json"]

_JSON = JSON.encode()
_ANY = b"*/*"
_KNOWN = frozenset({"route", "purpose", "audio_b64", "format", "is_final", "sample_rate"})
_FILES = {
    "wav": ("audio.wav", "audio/wav"),
    "pcm16": ("audio.wav", "audio/wav"),
    "webm_opus": ("audio.webm", "audio/webm"),
}
_RATES = range(8000, 192_001)
_SAMPLE_BYTES = 2
_UNTIL_FALSE = frozenset({b"", b"false", b"0"})
_UNSUPPORTED = problem(Code.UNSUPPORTED_AUDIO_MODE, param="is_final")


class _Reply(msgspec.Struct, gc=False):
    text: str | None = None
    error: msgspec.Raw = ABSENT


_REPLY = msgspec.json.Decoder(_Reply)
_RATE = msgspec.json.Decoder(int)


def _read_reply(body: bytes) -> _Reply | Problem | None:
    """A reply with a text; the problem that it tells, None if it is neither."""
    try:
        reply = _REPLY.decode(body)
    except BROKEN:
        return None
    if is_given(reply.error):
        return error_problem(body)
    return None if reply.text is None else reply


@dataclass(frozen=True, slots=True)
class Hearing:
    """OpenAI's form: its model part is rewritten where it stands, every other byte stays."""

    name: str
    wants_events: bool
    form: Form
    body: bytes = field(repr=False)
    path: str = "audio/transcriptions"
    kind: RequestKind = RequestKind.STT
    subject: str = "file"
    names_route: bool = False

    def outgoing(self, model: str) -> Outgoing:
        """The form with the model that the service knows."""
        (part,) = self.form.named("model")
        body = b"".join([self.body[: part.start], model.encode(), self.body[part.end :]])
        accept = EVENTS.encode() if self.wants_events else _ANY
        return Outgoing(content_type_of(self.form.boundary), body, accept)

    def manner(self, media: str) -> Manner | None:
        """Events if they were asked for; else JSON, plain text or subtitles, whole."""
        if media == EVENTS:
            return Manner.EVENTS if self.wants_events else None
        return Manner.WHOLE if media == JSON or media in TEXTS else None

    def finish(self, media: str, body: bytes, told: Told) -> Finished | Problem | None:  # noqa: ARG002
        """The reply as it came."""
        if media != JSON:
            return Finished(shown_type(media.encode()), body)
        reply = _read_reply(body)
        return Finished(_JSON, body) if isinstance(reply, _Reply) else reply


@dataclass(frozen=True, slots=True)
class NamedHearing:
    """The request that names a route: a form goes to the service, JSON comes back."""

    name: str | None
    file_name: str
    file_type: str
    audio: bytes = field(repr=False)
    path: str = "audio/transcriptions"
    kind: RequestKind = RequestKind.STT
    subject: str = "audio_b64"
    names_route: bool = True

    def outgoing(self, model: str) -> Outgoing:
        """The audio as a file, and what is asked of it."""
        fields = {"model": model, "response_format": "json"}
        return Outgoing(*render_form(fields, self.file_name, self.file_type, self.audio))

    def manner(self, media: str) -> Manner | None:
        """Only JSON, and only whole."""
        return Manner.WHOLE if media == JSON else None

    def finish(self, media: str, body: bytes, told: Told) -> Finished | Problem | None:  # noqa: ARG002
        """The text, with what is known of the audio; how long that lasts is known of WAV."""
        reply = _read_reply(body)
        if not isinstance(reply, _Reply):
            return reply
        shown = {
            "text": reply.text,
            "is_final": True,
            "duration_ms": duration_ms(self.audio),
            "model": told.name,
            "request_id": told.request_id,
            "latency_ms": told.latency_ms,
        }
        return Finished(_JSON, encode(shown))


def parse_hearing_form(
    content_type: bytes, body: bytes, sizes: Sizes, path: str
) -> Hearing | Problem:
    """A form with a file and, wherever it stands, a model."""
    form = parse_form(content_type, body)
    if isinstance(form, Problem):
        return form
    files = form.named("file")
    if not files:
        return invalid("file", "`file` must be given.")
    if any(file.end - file.start > sizes.max_input_bytes for file in files):
        return TOO_LARGE
    models = [body[part.start : part.end] for part in form.named("model")]
    try:
        (name,) = [model.decode() for model in models if model]
    except ValueError:  # none, several, or no text
        return invalid("model", "`model` must be given once, as text.")
    if len(models) > 1:
        return invalid("model", "`model` must be given once, as text.")
    streams = {body[part.start : part.end].strip().lower() for part in form.named("stream")}
    return Hearing(name, bool(streams - _UNTIL_FALSE), form, body, path)


def parse_hearing_json(body: bytes, sizes: Sizes, path: str) -> Ask | Problem:
    """Audio in base64 for a route, or for the default of its purpose."""
    members = members_of(body)
    if isinstance(members, Problem):
        return members
    route = find_route(members, "stt")
    kind = read_choice(members, "format", tuple(_FILES), None)
    for value in (check_known(members, _KNOWN), route, kind, _check_final(members)):
        if isinstance(value, Problem):
            return value
    assert not isinstance(route, Problem)
    assert isinstance(kind, str)
    audio = _read_audio(members, kind, sizes)
    if isinstance(audio, Problem):
        return audio
    return NamedHearing(route, *_FILES[kind], audio, path)


def _check_final(members: Mapping[str, msgspec.Raw]) -> Problem | None:
    said = bytes(members.get("is_final", ABSENT))
    if said == b"false":
        return _UNSUPPORTED
    return None if said == b"true" else invalid("is_final", "`is_final` must be true.")


def _read_audio(members: Mapping[str, msgspec.Raw], kind: str, sizes: Sizes) -> bytes | Problem:
    coded = read_text(members, "audio_b64")
    if isinstance(coded, Problem):
        return coded
    try:
        audio = b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        return invalid("audio_b64", "`audio_b64` must be base64.")
    if len(audio) > sizes.max_input_bytes:
        return TOO_LARGE
    return _wrapped(audio, members) if kind == "pcm16" else _as_is(audio, members)


def _as_is(audio: bytes, members: Mapping[str, msgspec.Raw]) -> bytes | Problem:
    if is_given(members.get("sample_rate", ABSENT)):
        return invalid("sample_rate", "`sample_rate` is for pcm16 only.")
    return audio


def _wrapped(audio: bytes, members: Mapping[str, msgspec.Raw]) -> bytes | Problem:
    try:
        rate = _RATE.decode(members.get("sample_rate", ABSENT))
    except BROKEN:
        rate = 0
    if rate not in _RATES:
        return invalid("sample_rate", "`sample_rate` must be a whole number from 8000 to 192000.")
    if len(audio) % _SAMPLE_BYTES:
        return invalid("audio_b64", "`audio_b64` must hold whole samples of two bytes.")
    return with_wav_head(audio, rate)
