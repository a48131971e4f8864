"""Server-sent events: bytes in any pieces to whole events, and one event back to bytes.

Rules, after the WHATWG text: a line ends in LF, CR or CRLF; a blank line ends an event; a line
that begins with a colon is a comment; one space after a field's colon is not part of its value;
several data lines are joined by LF; an event without data is no event. Two more of our own: the
same stream gives the same events however it is cut, and an event longer than the cap is refused
while it is still being read.
"""

import msgspec

__all__ = ["DONE", "DONE_EVENT", "SseDecoder", "SseEvent", "SseTooLong", "render_event"]

DONE = b"[DONE]"
"""The data by which OpenAI's dialects say that nothing more will come."""

DONE_EVENT = b"data: [DONE]\n\n"

_BOM = b"\xef\xbb\xbf"
_PLAIN = b"data: {"  # nearly every event of every engine: one line, an object
_GATHER_BYTES = 16_384  # small reads of a long event are joined up to this size


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its name if it has one, and its data."""

    event: str | None
    data: bytes


class SseTooLong(Exception):  # noqa: N818 - named by what happened, as trio does
    """One event is longer than the cap. `events` came whole before it; the decoder is spent."""

    def __init__(self, events: list[SseEvent]) -> None:
        super().__init__("sse_event_too_long")
        self.events = events


class SseDecoder:
    """Bytes to events, the same events for every way of cutting the bytes.

    Between two reads it holds at most `max_event_bytes`. Work is linear in what is fed, also for
    one long event in many small reads.
    """

    __slots__ = ("_ends_in_cr", "_lead", "_max", "_parts", "_size", "is_too_long")

    def __init__(self, max_event_bytes: int) -> None:
        self.is_too_long = False  # the event still being read is; the decoder is spent
        self._max = max_event_bytes
        self._lead: bytes | None = b""  # what may yet be a byte order mark; None once settled
        self._ends_in_cr = False
        self._parts: list[bytes] = []  # the event still being read, its line ends made LF
        self._size = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that `data` completes. Raises SseTooLong, which carries those before it."""
        events: list[SseEvent] = []
        try:
            for block in self.whole(data).split(b"\n\n"):
                event = self.event_in(block)
                if event is not None:
                    events.append(event)
        except SseTooLong:
            raise SseTooLong(events) from None
        if self.is_too_long:
            raise SseTooLong(events)
        return events

    def whole(self, data: bytes) -> bytes:
        """The bytes of all the events that `data` completes, up to their last blank line.

        They are as they came, but that every line ends in LF. What follows them is kept; where it
        is longer than an event may be, `is_too_long` is set.
        """
        if self._lead is not None:
            data = self._without_bom(self._lead + data)
        if self._ends_in_cr or b"\r" in data:
            data = self._with_lf_only(data)
        elif not self._parts and data.endswith(b"\n\n"):
            return data  # nearly every read of nearly every engine
        if self._parts:
            if not self._ends_event(data):
                self._keep(data)
                return b""
            self._parts.append(data)
            data = self._take_parts()
        blank = data.rfind(b"\n\n")
        if blank < 0:
            self._keep(data)
            return b""
        end = blank + 2
        if end == len(data):
            return data
        self._keep(data[end:])
        return data[:end]

    def event_in(self, block: bytes) -> SseEvent | None:
        """The event in a piece of what `whole` gave, from one blank line to the next, if it is one.

        Raises SseTooLong.
        """
        if len(block) > self._max:
            raise SseTooLong([])
        if block.startswith(_PLAIN) and b"\n" not in block:
            return SseEvent(None, block[6:])
        return _parse(block)

    def finish(self) -> SseEvent | None:
        """The event that the end of the stream left without its blank line, if there is one."""
        return _parse(self._take_parts())

    def _ends_event(self, data: bytes) -> bool:
        """Whether `data` brings the blank line for which the event being read waits."""
        return b"\n\n" in data or (data.startswith(b"\n") and self._parts[-1].endswith(b"\n"))

    def _without_bom(self, lead: bytes) -> bytes:
        """The stream's first bytes without the mark; none of them while it is undecided."""
        if len(lead) < len(_BOM) and _BOM.startswith(lead):
            self._lead = lead
            return b""
        self._lead = None
        return lead.removeprefix(_BOM)

    def _with_lf_only(self, data: bytes) -> bytes:
        """`data` with every line end made LF; a CR counts at once, its LF may come later."""
        if not data:
            return data
        if self._ends_in_cr:
            data = data.removeprefix(b"\n")
        self._ends_in_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep(self, data: bytes) -> None:
        """Hold on to an unfinished event."""
        self._size += len(data)
        if self._size > self._max:
            self.is_too_long = True
        elif data and self._parts and len(self._parts[-1]) + len(data) <= _GATHER_BYTES:
            self._parts[-1] += data
        elif data:
            self._parts.append(data)

    def _take_parts(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return whole


def _parse(block: bytes) -> SseEvent | None:
    """The event in these lines, or None: only comments, blank lines and fields without data."""
    name: str | None = None
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode(errors="replace")
    joined = b"\n".join(data)
    return SseEvent(name, joined) if joined else None


def render_event(data: bytes) -> bytes:
    """One event whose data is `data`, which must hold no line end."""
    return b"data: " + data + b"\n\n"
