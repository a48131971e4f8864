"""A Messages conversation as Chat messages.

Order is kept: what an assistant said, then the results of its calls, then what the user said. Text
is never edited but by the fixed words named here.
"""

from collections.abc import Iterable, Sequence

import msgspec
from pydantic import JsonValue

from anvil_trio.dialects.messages_content import Block, Message, blocks_of, source_of, text_of
from anvil_trio.dialects.raw_json import is_given
from anvil_trio.dialects.tool_calls import mended_arguments

__all__ = ["BILLING_HEADER", "ERROR_MARK", "PARAGRAPH", "History"]

BILLING_HEADER = "x-anthropic-billing-header"
"""A first system block that begins so says who pays, and differs each time: no prefix is cached."""

ERROR_MARK = "Error: "
"""What the text of a failed tool begins with: Chat has no other place to say so."""

PARAGRAPH = "\n\n"
_IMAGE_OF_RESULT = "Image of the tool result "
_IMAGES_FOLLOW = "(its images follow)"
_DATA_URL = "data:{};base64,{}"
_FILE_NAME = "document.pdf"
_TEXT = msgspec.json.Decoder(str)

_ChatMessage = dict[str, JsonValue]
_Parts = list[JsonValue]


class History:
    """Chat messages made from a conversation, and what was lost on the way.

    `dropped` are fixed names for the record. `unsaid` is where the first thing is that Chat has no
    word for and that must not be left out silently; None if there is none. Methods raise
    msgspec.DecodeError for blocks whose members are of the wrong type.
    """

    def __init__(self, *, keeps_billing_header: bool = False) -> None:
        self.messages: list[_ChatMessage] = []
        self.dropped: set[str] = set()
        self.unsaid: str | None = None
        self._keeps_billing_header = keeps_billing_header
        self._calls_end: int | None = None  # after the last turn's calls, while none are answered

    def add_system(self, system: str | list[Block]) -> None:
        """The prompt before all messages; a block of text each, or one text."""
        blocks = [Block("text", text=system)] if isinstance(system, str) else system
        if blocks and not self._keeps_billing_header and _is_billing_header(blocks[0]):
            self.dropped.add("system.billing_header")
            blocks = blocks[1:]
        text = self._joined(blocks, "system")
        if text:
            self.messages.append({"role": "system", "content": text})

    def add(self, message: Message, at: int) -> None:
        """The next turn, which is the caller's message number `at`."""
        where = f"messages[{at}].content"
        content = message.content
        blocks = [Block("text", text=content)] if isinstance(content, str) else content
        if message.role == "assistant":
            self._add_assistant(blocks, where)
        elif message.role == "user":
            self._add_user(blocks, where)
        else:
            self.messages.append({"role": message.role, "content": self._joined(blocks, where)})

    def _add_assistant(self, blocks: Iterable[Block], where: str) -> None:
        parts: _Parts = []
        thoughts: list[str] = []
        calls: list[JsonValue] = []
        for at, block in enumerate(blocks):
            match block.type:
                case "thinking":
                    thoughts += [block.thinking] if block.thinking else []
                case "redacted_thinking":
                    self.dropped.add("redacted_thinking")
                case "tool_use":
                    calls.append(_call(block))
                case _:
                    parts += self._parts(block, f"{where}[{at}]")
        message: _ChatMessage = {"role": "assistant", "content": _content(parts)}
        if thoughts:
            message["reasoning_content"] = PARAGRAPH.join(thoughts)
        if calls:
            message["tool_calls"] = calls
        self.messages.append(message)
        self._calls_end = len(self.messages) if calls else None

    def _add_user(self, blocks: Iterable[Block], where: str) -> None:
        """Results first, right after their calls, with their images before what the user says."""
        results: list[_ChatMessage] = []
        images: _Parts = []
        parts: _Parts = []
        for at, block in enumerate(blocks):
            if block.type == "tool_result":
                results.append(self._result(block, f"{where}[{at}]", images))
            else:
                parts += self._parts(block, f"{where}[{at}]")
        self._place_results(results)
        if images or parts or not results:
            self.messages.append({"role": "user", "content": _content([*images, *parts])})

    def _place_results(self, results: Sequence[_ChatMessage]) -> None:
        """Nothing may stand between calls and their results, also no system message."""
        at = len(self.messages) if self._calls_end is None else self._calls_end
        self._calls_end = None
        self.messages[at:at] = results

    def _result(self, block: Block, where: str, images: _Parts) -> _ChatMessage:
        """One result as text. Its images, for which it has no place, are added to `images`."""
        texts: list[str] = []
        shown: _Parts = []
        for at, part in enumerate(blocks_of(block.content)):
            if part.type == "tool_reference":
                texts.append(part.tool_name or "")
                continue
            for made in self._parts(part, f"{where}.content[{at}]"):
                assert isinstance(made, dict)
                text = made.get("text")
                if isinstance(text, str):
                    texts.append(text)
                else:
                    shown.append(made)
        self._note_harmless(block)
        call_id = block.tool_use_id or ""
        if shown:
            texts.append(_IMAGES_FOLLOW)
            images += [_text_part(f"{_IMAGE_OF_RESULT}{call_id}:"), *shown]
        said = "\n".join(texts)
        content = ERROR_MARK + said if block.is_error else said
        return {"role": "tool", "tool_call_id": call_id, "content": content}

    def _parts(self, block: Block, where: str) -> _Parts:
        """What one block of a turn is in Chat; nothing if it is empty, or if Chat cannot say it."""
        self._note_harmless(block)
        match block.type:
            case "text":
                return [_text_part(block.text)] if block.text else []
            case "image":
                return self._image(block, where)
            case "document":
                return self._document(block, where)
            case "search_result":
                return self._search_result(block, where)
        return self._cannot_say(f"{where}.type")

    def _image(self, block: Block, where: str) -> _Parts:
        source = source_of(block)
        if source.type == "base64" and source.data is not None:
            url = _DATA_URL.format(source.media_type or "image/png", source.data)
        elif source.type == "url" and source.url is not None:
            url = source.url
        else:
            return self._cannot_say(f"{where}.source")
        return [{"type": "image_url", "image_url": {"url": url}}]

    def _document(self, block: Block, where: str) -> _Parts:
        source = source_of(block)
        titles = [_text_part(text) for text in (block.title, block.context) if text]
        if source.type == "text" and source.data is not None:
            return [*titles, _text_part(source.data)]
        if source.type == "content":
            inner = enumerate(blocks_of(source.content))
            said = [part for at, one in inner for part in self._parts(one, f"{where}[{at}]")]
            return [*titles, *said]
        if source.type == "base64" and source.data is not None:
            data = _DATA_URL.format(source.media_type or "application/pdf", source.data)
            file: JsonValue = {"filename": block.title or _FILE_NAME, "file_data": data}
            return [*titles, {"type": "file", "file": file}]
        return self._cannot_say(f"{where}.source")

    def _search_result(self, block: Block, where: str) -> _Parts:
        heads = [text for text in (block.title, text_of(block.source)) if text]
        return [_text_part("\n".join([*heads, self._joined(blocks_of(block.content), where)]))]

    def _joined(self, blocks: Sequence[Block], where: str) -> str:
        """All that text blocks say, as paragraphs."""
        texts = []
        for at, block in enumerate(blocks):
            self._note_harmless(block)
            if block.type != "text":
                self._cannot_say(f"{where}[{at}].type")
            elif block.text:
                texts.append(block.text)
        return PARAGRAPH.join(texts)

    def _cannot_say(self, where: str) -> _Parts:
        if self.unsaid is None:
            self.unsaid = where
        return []

    def _note_harmless(self, block: Block) -> None:
        if is_given(block.cache_control):
            self.dropped.add("cache_control")
        if is_given(block.citations):
            self.dropped.add("citations")


def _is_billing_header(block: Block) -> bool:
    return block.type == "text" and (block.text or "").startswith(BILLING_HEADER)


def _text_part(text: str | None) -> JsonValue:
    return {"type": "text", "text": text}


def _content(parts: _Parts) -> JsonValue:
    """One text as a string, which every engine takes; else the parts."""
    match parts:
        case []:
            return ""
        case [{"type": "text", "text": text}]:
            return text
    return parts


def _call(block: Block) -> JsonValue:
    arguments = _TEXT.decode(mended_arguments(block.input))
    function: JsonValue = {"name": block.name or "", "arguments": arguments}
    return {"id": block.id or "", "type": "function", "function": function}
