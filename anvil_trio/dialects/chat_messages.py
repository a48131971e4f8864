"""Chat messages as callers send them: the few members that anyone here needs to know."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from anvil_trio.dialects.ir import Media
from anvil_trio.dialects.raw_json import ABSENT, is_given, is_string

__all__ = [
    "MESSAGES",
    "Facts",
    "Message",
    "Part",
    "ToolCall",
    "facts_of",
    "is_prefill",
    "texts_of",
]


class Part(msgspec.Struct, gc=False):
    """One part of a message's content. Engines also take media without a `type`."""

    type: str | None = None
    text: str | None = None
    image_url: msgspec.Raw = ABSENT
    video_url: msgspec.Raw = ABSENT
    audio_url: msgspec.Raw = ABSENT
    input_audio: msgspec.Raw = ABSENT
    file: msgspec.Raw = ABSENT


class Function(msgspec.Struct, gc=False):
    """What a tool call of the history calls; only its arguments matter here."""

    arguments: msgspec.Raw = ABSENT


class ToolCall(msgspec.Struct, gc=False):
    """One tool call of the history; `function` is None for kinds that have none."""

    function: Function | None = None


class Message(msgspec.Struct, gc=False):
    """One message. What is not named here passes through unread."""

    role: str
    content: str | list[Part | str] | msgspec.UnsetType | None = msgspec.UNSET
    tool_calls: list[ToolCall] | None = None
    reasoning_content: msgspec.Raw = ABSENT
    reasoning: msgspec.Raw = ABSENT
    reasoning_text: msgspec.Raw = ABSENT

    @property
    def text_parts(self) -> list[str]:
        """All text of the content, part by part."""
        content = self.content
        if isinstance(content, list):
            texts = [part if isinstance(part, str) else part.text for part in content]
            return [text for text in texts if text]
        return [content] if content else []

    @property
    def is_empty(self) -> bool:
        """Whether the content says nothing: absent, null, "", [] or text parts that are all ""."""
        content = self.content
        if isinstance(content, list):
            return not any(_says_something(part) for part in content)
        return not content


class Facts(msgspec.Struct, frozen=True):
    """What a conversation asks of whoever goes on with it."""

    roles: frozenset[str]
    media: Media  # in all of its messages
    has_tool_history: bool  # a tool was called or has answered in an earlier turn
    is_prefill: bool

    def __repr__(self) -> str:
        """Nothing that was asked."""
        return "Facts()"


MESSAGES = msgspec.json.Decoder(list[Message])

_TEXT = msgspec.json.Decoder(str)
_KINDS = ("image", "video", "audio", "file")  # in the order of Media's fields
_NO_MEDIA = Media()
_ANSWERING_ROLES = frozenset({"tool", "function"})


def _says_something(part: Part | str) -> bool:
    if isinstance(part, str):
        return bool(part)
    return bool(part.text) or part.type != "text"


def is_prefill(messages: Sequence[Message]) -> bool:
    """Whether the model is to go on from words put in its mouth."""
    return bool(messages) and messages[-1].role == "assistant" and not messages[-1].tool_calls


def facts_of(messages: Sequence[Message]) -> Facts:
    """All that one walk over the messages tells."""
    roles: set[str] = set()
    kinds: list[str | None] = []
    is_calling = False
    for message in messages:
        roles.add(message.role)
        if message.tool_calls:
            is_calling = True
        if isinstance(message.content, list):
            kinds += [
                _kind_of(part)
                for part in message.content
                if isinstance(part, Part) and part.type != "text"
            ]
    return Facts(
        roles=frozenset(roles),
        media=Media(*map(kinds.count, _KINDS)) if kinds else _NO_MEDIA,
        has_tool_history=is_calling or not _ANSWERING_ROLES.isdisjoint(roles),
        is_prefill="assistant" in roles and is_prefill(messages),
    )


def texts_of(messages: Iterable[Message]) -> Iterator[str]:
    """All text that makes the prompt: contents, and the arguments of earlier tool calls."""
    for message in messages:
        yield from message.text_parts
        for call in message.tool_calls or ():
            if call.function is not None and is_string(call.function.arguments):
                yield _TEXT.decode(call.function.arguments)


def _kind_of(part: Part) -> str | None:
    """What kind of media it is, told by its type, else by its members; None if none is known."""
    if part.type is not None:
        return next((kind for kind in _KINDS if kind in part.type), None)
    given = (part.image_url, part.video_url, part.audio_url, part.input_audio, part.file)
    kinds = ("image", "video", "audio", "audio", "file")
    return next((kind for kind, raw in zip(kinds, given, strict=True) if is_given(raw)), None)
