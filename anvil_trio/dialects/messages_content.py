"""Anthropic Messages as callers send them: the members that Chat has a word for.

What is not named here is neither checked nor read. Members that hold different things in different
blocks stay raw until a block's type says what they are.
"""

import msgspec

from anvil_trio.dialects.raw_json import ABSENT, is_given, is_string

__all__ = [
    "MESSAGES",
    "SYSTEM",
    "Block",
    "Message",
    "Source",
    "blocks_of",
    "source_of",
    "text_of",
]


class Block(msgspec.Struct, gc=False):
    """One content block of any type; which members it has is a matter of that type."""

    type: str
    text: str | None = None
    thinking: str | None = None
    source: msgspec.Raw = ABSENT
    title: str | None = None
    context: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT
    tool_use_id: str | None = None
    tool_name: str | None = None
    content: msgspec.Raw = ABSENT
    is_error: bool | None = None
    cache_control: msgspec.Raw = ABSENT
    citations: msgspec.Raw = ABSENT


class Message(msgspec.Struct, gc=False):
    """One turn."""

    role: str
    content: str | list[Block]


class Source(msgspec.Struct, gc=False):
    """Where an image or a document is: in itself (`base64`, `text`, `content`), or elsewhere."""

    type: str
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    content: msgspec.Raw = ABSENT


MESSAGES = msgspec.json.Decoder(list[Message])
SYSTEM = msgspec.json.Decoder(str | list[Block])
_BLOCKS = msgspec.json.Decoder(list[Block])
_SOURCE = msgspec.json.Decoder(Source)
_TEXT = msgspec.json.Decoder(str)


def blocks_of(raw: msgspec.Raw) -> list[Block]:
    """What a string, a list of blocks or nothing stands for. Raises msgspec.DecodeError."""
    if not is_given(raw):
        return []
    return [Block("text", text=_TEXT.decode(raw))] if is_string(raw) else _BLOCKS.decode(raw)


def source_of(block: Block) -> Source:
    """The source of an image or a document. Raises msgspec.DecodeError."""
    return _SOURCE.decode(block.source)


def text_of(raw: msgspec.Raw) -> str:
    """A member that is a string, else "". Raises msgspec.DecodeError if it is no JSON string."""
    return _TEXT.decode(raw) if is_given(raw) and is_string(raw) else ""
