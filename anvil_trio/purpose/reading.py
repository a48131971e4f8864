"""Each path of a service: what kind it asks for, how much of a body is read, what that says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from anvil_trio.decisions.words import RequestKind
from anvil_trio.errors import Problem
from anvil_trio.purpose.asks import Ask
from anvil_trio.purpose.hearing import parse_hearing_form, parse_hearing_json
from anvil_trio.purpose.multipart import FORM_DATA
from anvil_trio.purpose.sizes import Sizes
from anvil_trio.purpose.speaking import parse_speech
from anvil_trio.purpose.texts import parse_embedding, parse_rerank

__all__ = ["KINDS", "Reading", "reading_of"]

KINDS: Mapping[str, RequestKind] = MappingProxyType({
    "embeddings": RequestKind.EMBEDDING,
    "rerank": RequestKind.RERANK,
    "transcriptions": RequestKind.STT,
    "translations": RequestKind.STT,
    "speech": RequestKind.TTS,
})
"""What each route of the table asks for, by its name."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How one request is read. `max_reply_bytes` bounds what may come back."""

    kind: RequestKind
    max_body_bytes: int
    max_reply_bytes: int
    parse: Callable[[bytes], Ask | Problem]


def reading_of(route: str, content_type: bytes, sizes: Sizes) -> Reading:
    """How a request to the route of that name, with a body that is said to be that, is read."""
    kind = KINDS[route]
    most, output = sizes.max_body_bytes, sizes.max_output_bytes
    match kind:
        case RequestKind.EMBEDDING:
            return Reading(kind, most, most, parse_embedding)
        case RequestKind.RERANK:
            return Reading(kind, most, most, parse_rerank)
        case RequestKind.TTS:
            return Reading(kind, sizes.text_body(), output, partial(parse_speech, sizes=sizes))
    path = f"audio/{route}"
    if content_type.strip().lower().startswith(FORM_DATA):
        form = partial(parse_hearing_form, content_type, sizes=sizes, path=path)
        return Reading(kind, sizes.form_body(), output, form)
    named = partial(parse_hearing_json, sizes=sizes, path=path)
    return Reading(kind, sizes.coded_body(), output, named)
