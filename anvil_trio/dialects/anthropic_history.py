"""A Chat conversation as Messages turns, for engines that speak Anthropic Messages.

Order is kept and text never edited. Tool results become blocks of the next user turn, since
Messages has no turn of their own.
"""

from collections.abc import Sequence

import msgspec

from anvil_trio.dialects.raw_json import ABSENT, is_given

__all__ = ["ChatTurn", "Turns", "Unsaid"]

_SYSTEM_ROLES = frozenset({"system", "developer"})
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DATA = "data:"
_BASE64 = ";base64"
_PDF = "application/pdf"

Block = dict[str, object]


class Unsaid(Exception):  # noqa: N818 - named by what happened
    """Messages has no word for what is at `where`, and it must not be left out silently."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


class _Url(msgspec.Struct, gc=False):
    url: str
    detail: str | None = None


class _File(msgspec.Struct, gc=False):
    file_data: str | None = None
    filename: str | None = None


class _Part(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    image_url: _Url | str | None = None
    file: _File | None = None


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct, gc=False):
    id: str | None = None
    function: _Function | None = None


class ChatTurn(msgspec.Struct, gc=False):
    """One Chat message, as far as Messages has a word for it."""

    role: str
    content: str | list[_Part | str] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    name: msgspec.Raw = ABSENT
    audio: msgspec.Raw = ABSENT
    function_call: msgspec.Raw = ABSENT
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None


class Turns:
    """Messages turns made of Chat messages, and the system prompt before them.

    `add_all` raises Unsaid. `dropped` names what was left out and changes nothing.
    """

    def __init__(self) -> None:
        self.dropped: set[str] = set()
        self.system: list[Block] = []
        self.turns: list[dict[str, object]] = []
        self._results: list[Block] | None = None  # of a user turn that may still grow

    def add_all(self, messages: Sequence[ChatTurn]) -> None:
        """All messages, in their order."""
        for at, message in enumerate(messages):
            where = f"messages[{at}]"
            self.dropped |= _without_words(message)
            if message.role in _SYSTEM_ROLES:
                self._add_system(message, where)
            elif message.role == "user":
                self._add_user(message, where)
            elif message.role == "assistant":
                self._add_assistant(message, where)
            elif message.role == "tool":
                self._add_result(message, where)
            else:
                raise Unsaid(f"{where}.role")

    def _add_system(self, message: ChatTurn, where: str) -> None:
        """Before all turns it is the system prompt; later it stays where it was."""
        blocks = _blocks(message.content, f"{where}.content")
        if not self.turns:
            self.system += blocks
        elif blocks:
            self._append("system", blocks)

    def _add_user(self, message: ChatTurn, where: str) -> None:
        blocks = _blocks(message.content, f"{where}.content")
        if self._results is not None:
            self._results += blocks
            self._results = None
        elif blocks:
            self._append("user", blocks)

    def _add_assistant(self, message: ChatTurn, where: str) -> None:
        for name, raw in (("function_call", message.function_call), ("audio", message.audio)):
            if is_given(raw):
                raise Unsaid(f"{where}.{name}")
        thought = message.reasoning_content or message.reasoning or message.reasoning_text
        blocks: list[Block] = []
        if thought:
            blocks.append({"type": "thinking", "thinking": thought, "signature": ""})
        blocks += _blocks(message.content, f"{where}.content")
        if message.refusal:
            blocks.append(_text(message.refusal))
        for at, call in enumerate(message.tool_calls or ()):
            blocks.append(_use(call, f"{where}.tool_calls[{at}]"))
        if blocks:
            self._append("assistant", blocks)

    def _add_result(self, message: ChatTurn, where: str) -> None:
        """Results of one turn's calls stand together, in front of what the user then says."""
        if self._results is None:
            self._results = []
            self._append("user", self._results, is_growing=True)
        content = message.content
        said = content if isinstance(content, str) else _blocks(content, f"{where}.content")
        self._results.append({
            "type": "tool_result",
            "tool_use_id": message.tool_call_id or "",
            "content": said,
        })

    def _append(self, role: str, blocks: list[Block], *, is_growing: bool = False) -> None:
        if not is_growing:
            self._results = None
        self.turns.append({"role": role, "content": blocks})


def _without_words(message: ChatTurn) -> set[str]:
    """What Messages has no word for, and no answer depends on."""
    dropped = {"messages.name"} if is_given(message.name) else set()
    parts = message.content if isinstance(message.content, list) else ()
    urls = [part.image_url for part in parts if isinstance(part, _Part)]
    if any(isinstance(url, _Url) and url.detail not in {None, "auto"} for url in urls):
        dropped.add("image_url.detail")
    return dropped


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _blocks(content: str | list[_Part | str] | None, where: str) -> list[Block]:
    """Content as blocks; texts that say nothing, which Anthropic refuses, are left out."""
    if content is None or isinstance(content, str):
        return [_text(content)] if content else []
    blocks = []
    for at, part in enumerate(content):
        text = part if isinstance(part, str) else part.text
        if isinstance(part, str) or part.type == "text" or (part.type is None and text is not None):
            blocks += [_text(text)] if text else []
        else:
            blocks.append(_media(part, f"{where}[{at}]"))
    return blocks


def _media(part: _Part, where: str) -> Block:
    if part.image_url is not None:
        url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
        return {"type": "image", "source": _source(url, where)}
    if part.file is not None and part.file.file_data is not None:
        source = _source(part.file.file_data, where)
        if source.get("media_type") == _PDF:
            title = {} if part.file.filename is None else {"title": part.file.filename}
            return {"type": "document", "source": source, **title}
    raise Unsaid(where)


def _source(url: str, where: str) -> dict[str, str]:
    """Where a picture or a document is: in the URL itself, or behind it."""
    if url[: len(_DATA)].lower() != _DATA:
        return {"type": "url", "url": url}
    head, comma, data = url[len(_DATA) :].partition(",")
    if not comma or not head.endswith(_BASE64):
        raise Unsaid(where)
    return {"type": "base64", "media_type": head.removesuffix(_BASE64), "data": data}


def _use(call: _Call, where: str) -> Block:
    """One call; its arguments must be an object, since they are one in Messages."""
    if call.function is None:
        raise Unsaid(where)
    text = call.function.arguments.strip() or "{}"
    try:
        _OBJECT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise Unsaid(f"{where}.function.arguments") from None
    return {
        "type": "tool_use",
        "id": call.id or "",
        "name": call.function.name,
        "input": msgspec.Raw(text.encode()),
    }
