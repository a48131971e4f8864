"""The `input` of a Responses request as the messages of a chat.

What the API keeps as separate items, Chat keeps in one message of the assistant: the reasoning,
the text and the calls of one turn. All that comes between two items of other roles is one turn, as
far as Chat has room for it.
"""

from dataclasses import dataclass, field

import msgspec

from anvil_trio.dialects.raw_json import (
    ABSENT,
    encode,
    is_given,
    is_string,
    items_of,
    raw_of,
)
from anvil_trio.dialects.responses_parts import ChatContent, chat_content, refuse, texts_joined
from anvil_trio.dialects.tool_calls import mended_arguments

__all__ = ["chat_messages"]

_Message = dict[str, object]


class _Item(msgspec.Struct, gc=False):
    """An input item; what is not named here, its id above all, is not read."""

    type: str | None = None
    role: str | None = None
    content: msgspec.Raw = ABSENT
    summary: msgspec.Raw = ABSENT
    encrypted_content: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    input: str | None = None
    output: msgspec.Raw = ABSENT


_ITEM = msgspec.json.Decoder(_Item)
_TEXT = msgspec.json.Decoder(str)
_BROKEN = (msgspec.DecodeError, RecursionError)
_ROLES = frozenset({"system", "developer", "user"})
_PARAGRAPH = "\n\n"
_INPUT_WORDS = "`input` must be a string or a non-empty list of items."
_ITEM_WORDS = "An input item must be an object whose members have their documented types."
_KIND_WORDS = "This type of input item is not supported here."
_ROLE_WORDS = "The role must be one of system, developer, user, assistant."
_CALL_WORDS = "A call must have a string `call_id` and a string `name`."
_CUSTOM_WORDS = "A call of a custom tool must have its `input` as a string."
_OUTPUT_WORDS = "The output of a call must have a string `call_id` and its `output`."


def chat_messages(
    raw: msgspec.Raw, instructions: str, dropped: list[str]
) -> list[dict[str, object]]:
    """The messages, `instructions` first. Names what could not be kept in `dropped`.

    Raises `responses_parts.Refused`.
    """
    messages: list[_Message] = []
    if instructions:
        messages.append({"role": "system", "content": instructions})
    try:
        if is_string(raw):
            return [*messages, {"role": "user", "content": _TEXT.decode(raw)}]
        items = items_of(raw)
    except _BROKEN:
        raise refuse("input", _INPUT_WORDS) from None
    history = _History(messages, dropped)
    for at, item in enumerate(items):
        try:
            history.take(_ITEM.decode(item), f"input[{at}]")
        except _BROKEN:
            raise refuse(f"input[{at}]", _ITEM_WORDS) from None
    history.end_turn()
    if not messages:
        raise refuse("input", _INPUT_WORDS)
    return messages


@dataclass(slots=True)
class _Turn:
    """What the assistant has said since somebody else spoke."""

    reasoning: list[str] = field(default_factory=list)
    content: ChatContent | None = None
    calls: list[_Message] = field(default_factory=list)

    def say(self, content: ChatContent) -> None:
        """Add to what was said, as a paragraph of its own."""
        if self.content is None:
            self.content = content
        elif isinstance(self.content, str) and isinstance(content, str):
            self.content = _PARAGRAPH.join(text for text in (self.content, content) if text)
        else:
            self.content = [*_parts_of(self.content), *_parts_of(content)]

    def message(self) -> _Message | None:
        """The whole turn; None if there was none."""
        if not self.reasoning and self.content is None and not self.calls:
            return None
        message: _Message = {"role": "assistant", "content": self.content or ""}
        if self.reasoning:
            message["reasoning_content"] = _PARAGRAPH.join(self.reasoning)
        if self.calls:
            message["tool_calls"] = self.calls
        return message


class _History:
    """Items in, messages out."""

    def __init__(self, messages: list[_Message], dropped: list[str]) -> None:
        self._messages, self._dropped = messages, dropped
        self._turn = _Turn()

    def take(self, item: _Item, place: str) -> None:
        """One item. Raises Refused, or msgspec.DecodeError for a broken one."""
        match item.type:
            case None | "message":
                self._take_message(item, place)
            case "reasoning":
                self._take_reasoning(item, place)
            case "function_call":
                self._take_call(item, place, mended_arguments(item.arguments))
            case "custom_tool_call":
                if item.input is None:
                    raise refuse(place, _CUSTOM_WORDS)
                self._take_call(item, place, raw_of(encode({"input": item.input}).decode()))
            case "function_call_output" | "custom_tool_call_output":
                self._take_output(item, place)
            case _:
                raise refuse(f"{place}.type", _KIND_WORDS)

    def end_turn(self) -> None:
        """Somebody else speaks, or nobody any more."""
        message = self._turn.message()
        if message is not None:
            self._messages.append(message)
        self._turn = _Turn()

    def _take_message(self, item: _Item, place: str) -> None:
        if item.role is None and item.type is None:
            raise refuse(f"{place}.type", _KIND_WORDS)  # a reference to what nobody has kept
        content = chat_content(item.content, f"{place}.content")
        if item.role == "assistant":
            if self._turn.content is not None and not self._turn.calls:
                self.end_turn()
            self._turn.say(content)
        elif item.role in _ROLES:
            self.end_turn()
            self._messages.append({"role": item.role, "content": content})
        else:
            raise refuse(f"{place}.role", _ROLE_WORDS)

    def _take_reasoning(self, item: _Item, place: str) -> None:
        """A thought, as it was or its summary; what only its maker can decrypt is left out."""
        text = texts_joined(item.content, f"{place}.content")
        text = text or texts_joined(item.summary, f"{place}.summary")
        if item.encrypted_content:
            self._dropped.append("encrypted_content")
        if not text:
            return
        if self._turn.content is not None and not self._turn.calls:
            self.end_turn()
        self._turn.reasoning.append(text)

    def _take_call(self, item: _Item, place: str, arguments: msgspec.Raw) -> None:
        if item.call_id is None or item.name is None:
            raise refuse(place, _CALL_WORDS)
        function = {"name": item.name, "arguments": arguments}
        self._turn.calls.append({"id": item.call_id, "type": "function", "function": function})

    def _take_output(self, item: _Item, place: str) -> None:
        if item.call_id is None or not is_given(item.output):
            raise refuse(place, _OUTPUT_WORDS)
        self.end_turn()
        content = chat_content(item.output, f"{place}.output")
        self._messages.append({"role": "tool", "tool_call_id": item.call_id, "content": content})


def _parts_of(content: ChatContent) -> list[_Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
