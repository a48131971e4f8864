"""What the items of a Responses request hold, as Chat puts it: texts, images, sounds, files."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from anvil_trio.dialects.raw_json import ABSENT, is_given, is_string, items_of
from anvil_trio.errors import Code, Problem, problem

__all__ = ["ChatContent", "Refused", "chat_content", "refuse", "texts_joined"]

ChatContent: TypeAlias = str | list[dict[str, object]]
"""The content of a Chat message: one text, or parts."""


class Refused(Exception):  # noqa: N818 - named by what happened, as trio does
    """A part of the request cannot be put in Chat; `problem` is the 400 that says which."""

    def __init__(self, what: Problem) -> None:
        super().__init__(what.code.value)
        self.problem = what


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: msgspec.Raw = ABSENT
    detail: str | None = None
    input_audio: msgspec.Raw = ABSENT
    file_data: str | None = None
    filename: str | None = None


class _ImageUrl(msgspec.Struct, gc=False):
    url: str


_PART = msgspec.json.Decoder(_Part)
_TEXT = msgspec.json.Decoder(str)
_IMAGE_URL = msgspec.json.Decoder(_ImageUrl)
_TEXT_TYPES = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_BROKEN = (msgspec.DecodeError, RecursionError)
_PART_WORDS = "A content part must be an object with a string `type` and what that type needs."
_KIND_WORDS = "This type of content part is not supported here."
_STORED_WORDS = "Nothing is stored or fetched here: files must be sent with their data."
_CONTENT_WORDS = "Content must be a string or a list of content parts."
_PARAGRAPH = "\n\n"


def refuse(param: str, message: str, code: Code = Code.INVALID_REQUEST) -> Refused:
    """The refusal of one place in the request."""
    return Refused(problem(code, message=message, param=param))


def chat_content(raw: msgspec.Raw, place: str) -> ChatContent:
    """Content in Chat's shape; a single text is a string, which every engine takes.

    `place` names it in the request. Raises Refused.
    """
    if not is_given(raw):
        return ""
    try:
        if is_string(raw):
            return _TEXT.decode(raw)
        raws = items_of(raw)
    except _BROKEN:
        raise refuse(place, _CONTENT_WORDS) from None
    parts = [_chat_part(part, f"{place}[{at}]") for at, part in enumerate(raws)]
    text = _only_text(parts)
    return parts if text is None else text


def texts_joined(raw: msgspec.Raw, place: str) -> str:
    """All text of content that holds nothing else, a paragraph for each part. Raises Refused."""
    content = chat_content(raw, place)
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content]
    return _PARAGRAPH.join(text for text in texts if isinstance(text, str))


def _only_text(parts: Sequence[dict[str, object]]) -> str | None:
    """The text of content that is at most one text; None for any other."""
    if not parts:
        return ""
    text = parts[0].get("text") if len(parts) == 1 else None
    return text if isinstance(text, str) else None


def _chat_part(raw: msgspec.Raw, place: str) -> dict[str, object]:
    if is_string(raw):
        return {"type": "text", "text": _TEXT.decode(raw)}
    try:
        part = _PART.decode(raw)
        made = _translated(part, place)
    except _BROKEN:
        raise refuse(place, _PART_WORDS) from None
    if made is None:
        raise refuse(place, _PART_WORDS)
    return made


def _translated(part: _Part, place: str) -> dict[str, object] | None:
    """The part in Chat's shape; None if it lacks what its type needs."""
    if part.type in _TEXT_TYPES:
        return None if part.text is None else {"type": "text", "text": part.text}
    match part.type:
        case "refusal":
            return None if part.refusal is None else {"type": "text", "text": part.refusal}
        case "input_image" | "image_url":
            return _image(part, place)
        case "input_audio":
            return _sound(part)
        case "input_file":
            return _file(part, place)
        case _:
            raise refuse(f"{place}.type", _KIND_WORDS)


def _image(part: _Part, place: str) -> dict[str, object]:
    if not is_given(part.image_url):
        raise refuse(place, _STORED_WORDS)
    sent = part.image_url
    url = _TEXT.decode(sent) if is_string(sent) else _IMAGE_URL.decode(sent).url
    detail = {} if part.detail is None else {"detail": part.detail}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _sound(part: _Part) -> dict[str, object] | None:
    if not is_given(part.input_audio):
        return None
    return {"type": "input_audio", "input_audio": part.input_audio}


def _file(part: _Part, place: str) -> dict[str, object]:
    if part.file_data is None:
        raise refuse(place, _STORED_WORDS)
    name = {} if part.filename is None else {"filename": part.filename}
    return {"type": "file", "file": {"file_data": part.file_data, **name}}
