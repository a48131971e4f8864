"""Content types: those that requests come in, and the closed list of those that replies may have.

What an engine says of its reply reaches the caller in our own spelling or not at all.
"""

import re

__all__ = ["BYTES", "EVENTS", "JSON", "TEXTS", "declared_type", "media_type", "shown_type"]

JSON = "application/json"
EVENTS = "text/event-stream"
BYTES = "application/octet-stream"
TEXTS = frozenset({"text/plain", "text/vtt", "text/srt", "application/x-subrip"})
_AUDIO = frozenset(
    f"audio/{kind}"
    for kind in (
        *("aac", "flac", "l16", "mp3", "mp4", "mpeg", "ogg", "opus", "pcm", "wav", "wave", "webm"),
        *("vnd.wave", "x-flac", "x-wav"),
    )
)
_NUMBERS = re.compile(r";\s*(rate|channels)=([0-9]{1,7})(?![^;\s])")


def declared_type(headers: list[tuple[bytes, bytes]]) -> bytes:
    """What a request says that its body is; empty if it does not say."""
    return next((value for name, value in headers if name == b"content-type"), b"")


def media_type(said: bytes | None) -> str:
    """What a reply's `Content-Type` says, without parameters; empty if it is not on the list.

    Audio of a kind that nobody knows is bytes.
    """
    kind = (said or b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind.startswith("audio/"):
        return kind if kind in _AUDIO else BYTES
    return kind if kind in {JSON, EVENTS, BYTES, *TEXTS} else ""


def shown_type(said: bytes | None) -> bytes:
    """The content type that the caller of such a reply is told; what is audio keeps its numbers."""
    kind = media_type(said)
    if kind == EVENTS or kind in TEXTS:
        return f"{kind}; charset=utf-8".encode()
    numbers = _NUMBERS.findall((said or b"").decode("latin-1")) if kind in _AUDIO else []
    return ";".join([kind, *(f"{name}={number}" for name, number in numbers)]).encode()
