"""A stream of events from a service: each is read, and its own error or model never goes on."""

import re

import msgspec

from anvil_trio.dialects.chat_errors import error_event
from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.json_span import with_text
from anvil_trio.dialects.raw_json import ABSENT, is_given
from anvil_trio.dialects.sse import DONE, DONE_EVENT, SseDecoder, SseEvent, SseTooLong
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.purpose.json_body import BROKEN

__all__ = ["EventReader", "error_event"]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_BROKEN = problem(Code.UPSTREAM_ERROR)


class _Event(msgspec.Struct, gc=False):
    model: str | None = None
    error: msgspec.Raw = ABSENT
    type: str | None = None


_EVENT = msgspec.json.Decoder(_Event)


class EventReader:
    """The bytes for the caller from the bytes of the service; `name` is what that is called.

    Whole events only, so that after a failure the caller can be told of it in an event of its own.
    `fault` is that failure: nothing that came after it is wanted.
    """

    def __init__(self, name: str, max_event_bytes: int) -> None:
        self._name = name
        self._decoder = SseDecoder(max_event_bytes)
        self.fault: Problem | None = None

    def feed(self, data: bytes) -> bytes:
        """What these bytes complete, ready to be sent."""
        try:
            events = self._decoder.feed(data)
        except SseTooLong as cut:
            shown = self._shown(cut.events)
            self.fault = self.fault or _BROKEN
            return shown
        return self._shown(events)

    def finish(self) -> bytes:
        """The stream has ended: what its last event lacked was a blank line."""
        last = self._decoder.finish()
        return b"" if last is None else self._shown([last])

    def _shown(self, events: list[SseEvent]) -> bytes:
        return b"".join([self._one(event) for event in events if self.fault is None])

    def _one(self, event: SseEvent) -> bytes:
        if event.data == DONE:
            return DONE_EVENT
        try:
            read = _EVENT.decode(event.data)
        except BROKEN:
            self.fault = _BROKEN
            return b""
        if is_given(read.error) or "error" in {event.event, read.type}:
            self.fault = error_problem(event.data)
            return b""
        data = event.data
        if read.model is not None and read.model != self._name:
            data = with_text(data, "model", text=self._name)
        lines = b"".join(b"data: %s\n" % line for line in data.split(b"\n"))
        named = event.event is not None and _NAME.fullmatch(event.event)
        return (f"event: {event.event}\n".encode() if named else b"") + lines + b"\n"
