"""The output items of a Responses reply: what is sent of each, and what it is in the end.

An item is opened, said piece by piece and closed; every event of an item names it, and all events
of a reply are numbered in the order in which they leave.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from anvil_trio.dialects.argument_scan import ArgumentScan
from anvil_trio.dialects.raw_json import encode

__all__ = [
    "MESSAGE",
    "REASONING",
    "SUMMARY",
    "CallItem",
    "EventWriter",
    "Form",
    "Item",
    "ItemStatus",
    "SaidItem",
]

ItemStatus: TypeAlias = Literal["completed", "incomplete"]


class EventWriter:
    """Writes server-sent events, numbered from 0 without gaps."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = 0

    def write(self, kind: bytes, members: bytes) -> bytes:
        """One event; `members` are those of its data after `type` and `sequence_number`."""
        number = self._number
        self._number = number + 1
        return b'event: %b\ndata: {"type":"%b","sequence_number":%d,%b}\n\n' % (
            kind,
            kind,
            number,
            members,
        )


@dataclass(frozen=True, slots=True)
class Form:
    """How an item that is one text is put: the names of its events, its one part and itself."""

    prefix: str
    index: bytes
    part_added: bytes
    delta: bytes
    text_done: bytes
    part_done: bytes
    log_probabilities: bytes
    part: bytes
    item: bytes


MESSAGE = Form(
    prefix="msg",
    index=b"content_index",
    part_added=b"response.content_part.added",
    delta=b"response.output_text.delta",
    text_done=b"response.output_text.done",
    part_done=b"response.content_part.done",
    log_probabilities=b',"logprobs":[]',
    part=b'{"type":"output_text","text":%b,"annotations":[],"logprobs":[]}',
    item=b'{"id":"%b","type":"message","status":"%b","role":"assistant","content":[%b]}',
)
"""The visible answer."""

REASONING = Form(
    prefix="rs",
    index=b"content_index",
    part_added=b"response.content_part.added",
    delta=b"response.reasoning_text.delta",
    text_done=b"response.reasoning_text.done",
    part_done=b"response.content_part.done",
    log_probabilities=b"",
    part=b'{"type":"reasoning_text","text":%b}',
    item=b'{"id":"%b","type":"reasoning","status":"%b","summary":[],"content":[%b]}',
)
"""The model's reasoning as it is."""

SUMMARY = Form(
    prefix="rs",
    index=b"summary_index",
    part_added=b"response.reasoning_summary_part.added",
    delta=b"response.reasoning_summary_text.delta",
    text_done=b"response.reasoning_summary_text.done",
    part_done=b"response.reasoning_summary_part.done",
    log_probabilities=b"",
    part=b'{"type":"summary_text","text":%b}',
    item=b'{"id":"%b","type":"reasoning","status":"%b","summary":[%b]}',
)
"""The same where callers look for it who asked for a summary."""

_ADDED, _DONE = b"response.output_item.added", b"response.output_item.done"
_NO_TEXT = b'""'


class _Texts:
    """The pieces of an item, and how many of them have left."""

    __slots__ = ("_pieces", "_sent")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._sent = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been said."""
        return not self._pieces

    def hold(self, text: str) -> None:
        """Keep a piece that must wait for its item's turn."""
        self._pieces.append(text)

    def send(self, text: str) -> None:
        """Keep a piece that leaves at once."""
        self._pieces.append(text)
        self._sent += 1

    def take_held(self) -> str:
        """What has waited, joined; once."""
        held = "".join(self._pieces[self._sent :])
        self._sent = len(self._pieces)
        return held

    def whole(self) -> str:
        """All of it."""
        return "".join(self._pieces)


class SaidItem:
    """A message or a reasoning item: one part, one text."""

    __slots__ = ("_delta_members", "_id", "_place", "form", "texts")

    def __init__(self, form: Form, token: str, at: int) -> None:
        self.form = form
        self.texts = _Texts()
        self._id = f"{form.prefix}_{token}_{at}".encode()
        self._place = b'"output_index":%d' % at
        self._delta_members = b'%b%b,"delta":' % (self._part_place, form.log_probabilities)

    @property
    def _part_place(self) -> bytes:
        return b'"item_id":"%b",%b,"%b":0' % (self._id, self._place, self.form.index)

    @property
    def is_whole(self) -> bool:
        """It ends when something else begins."""
        return True

    def open(self, writer: EventWriter) -> bytes:
        """The events that announce it."""
        form = self.form
        item = form.item % (self._id, b"in_progress", b"")
        part = form.part % _NO_TEXT
        return writer.write(_ADDED, b'%b,"item":%b' % (self._place, item)) + writer.write(
            form.part_added, b'%b,"part":%b' % (self._part_place, part)
        )

    def say(self, writer: EventWriter, text: str) -> bytes:
        """One more piece."""
        return writer.write(self.form.delta, self._delta_members + encode(text))

    def close(self, writer: EventWriter, status: ItemStatus) -> tuple[bytes, bytes]:
        """The events that end it, and the item as it is in the end."""
        form = self.form
        text = encode(self.texts.whole())
        part = form.part % text
        item = form.item % (self._id, status.encode(), part)
        said = b'%b%b,"text":%b' % (self._part_place, form.log_probabilities, text)
        events = (
            writer.write(form.text_done, said),
            writer.write(form.part_done, b'%b,"part":%b' % (self._part_place, part)),
            writer.write(_DONE, b'%b,"item":%b' % (self._place, item)),
        )
        return b"".join(events), item


class CallItem:
    """A function call; its arguments are never edited."""

    __slots__ = ("_call_id", "_id", "_name", "_place", "_scan", "texts")

    def __init__(self, call_id: str, name: str, token: str, at: int) -> None:
        self.texts = _Texts()
        self._id = f"fc_{token}_{at}".encode()
        self._call_id, self._name = encode(call_id), encode(name)
        self._place = b'"output_index":%d' % at
        self._scan = ArgumentScan()

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are one JSON object, to which nothing can be added."""
        return self._scan.is_whole

    @property
    def is_cut(self) -> bool:
        """Whether its arguments have begun and not ended."""
        return self._scan.is_cut

    def follow(self, text: str) -> None:
        """Learn from a piece, whether it is sent or held."""
        self._scan.feed(text)

    def open(self, writer: EventWriter) -> bytes:
        """The event that announces it."""
        item = self._item("in_progress", _NO_TEXT)
        return writer.write(_ADDED, b'%b,"item":%b' % (self._place, item))

    def say(self, writer: EventWriter, text: str) -> bytes:
        """One more piece of its arguments."""
        members = b'"item_id":"%b",%b,"delta":%b' % (self._id, self._place, encode(text))
        return writer.write(b"response.function_call_arguments.delta", members)

    def close(self, writer: EventWriter, status: ItemStatus) -> tuple[bytes, bytes]:
        """The events that end it, and the item as it is in the end.

        Arguments that were cut are never called done: a caller might act on them.
        """
        arguments = encode(self.texts.whole())
        item = self._item(status, arguments)
        members = b'"item_id":"%b",%b,"name":%b,"arguments":%b' % (
            self._id,
            self._place,
            self._name,
            arguments,
        )
        events = b""
        if status == "completed":
            events = writer.write(b"response.function_call_arguments.done", members)
        return events + writer.write(_DONE, b'%b,"item":%b' % (self._place, item)), item

    def _item(self, status: str, arguments: bytes) -> bytes:
        shape = (
            b'{"id":"%b","type":"function_call","status":"%b","call_id":%b,"name":%b,'
            b'"arguments":%b}'
        )
        return shape % (self._id, status.encode(), self._call_id, self._name, arguments)


Item: TypeAlias = SaidItem | CallItem
