"""What an engine says, as the event stream of the Responses API, or as one whole response.

Items come strictly one after another. A tool argument leaves when it arrives, unless an earlier
item is still open: a call stays open while its arguments may go on, since some engines send the
pieces of several calls by turns.
"""

from collections.abc import Callable
from dataclasses import dataclass

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.responses_items import (
    MESSAGE,
    REASONING,
    SUMMARY,
    CallItem,
    EventWriter,
    Form,
    Item,
    ItemStatus,
    SaidItem,
)
from anvil_trio.dialects.responses_object import ResponseObject, ResponseStatus, render_usage
from anvil_trio.dialects.tokens import estimate_tokens
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["ResponsesEncoder", "WholeResponse"]

_CUT: dict[FinishReason | None, str] = {
    FinishReason.LENGTH: "max_output_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
}
"""The finish reasons of a reply that is not whole, in the API's words."""

_MOST_ITEMS = 1024  # of one reply: text between calls makes items too


@dataclass(frozen=True, slots=True)
class WholeResponse:
    """A response that has ended: its status and the object."""

    status: ResponseStatus
    body: bytes


class ResponsesEncoder:
    """Encodes one reply (`StreamEncoder`), and can put it as one object instead.

    `token` is what the ids of this reply's items have in common, `now` the wall clock,
    `prompt_estimate` the prompt's tokens if the engine does not count. All that is said is held to
    the end, for the API repeats it there; more than `max_bytes` of it is a failure.

    Invariant: items before `_at` are closed, the one at `_at` is open, those behind it wait.
    """

    def __init__(
        self,
        response: ResponseObject,
        *,
        token: str,
        now: Callable[[], float],
        wants_summary: bool,
        prompt_estimate: int,
        max_bytes: int,
    ) -> None:
        self._response, self._token, self._now = response, token, now
        self._reasoning_form = SUMMARY if wants_summary else REASONING
        self._prompt_estimate = prompt_estimate
        self._room = max_bytes
        self._writer = EventWriter()
        self._has_started = False
        self._items: list[Item] = []
        self._at = 0
        self._calls: dict[int, int] = {}  # a call's number to its place
        self._output: list[bytes] = []  # the items that are closed
        self._finish_reason: FinishReason | None = None
        self._usage = Usage()
        self.completion_estimate: int | None = None  # known once the response has ended

    def start(self) -> bytes:
        """`response.created` and `response.in_progress`."""
        self._has_started = True
        now = self._response.render("in_progress")
        return self._lifecycle(b"created", now) + self._lifecycle(b"in_progress", now)

    def encode(self, event: StreamEvent) -> bytes:
        """What one event is worth now. Raises UpstreamFailed if it makes no sense or too much."""
        match event:
            case TextDelta(text):
                return self._say(MESSAGE, text)
            case ArgumentsDelta(number, text):
                return self._continue_call(self._calls[number], text)
            case ReasoningDelta(text):
                return self._say(self._reasoning_form, text)
            case CallBegan(number, call_id, name):
                at = self._calls[number] = len(self._items)
                return self._begin(CallItem(call_id, name, self._token, at))
            case Finished(reason):
                self._note_end(reason)
            case UsageReported(usage):
                self._usage = usage
            case _:
                pass  # a signature: only its own engine could read it
        return b""

    def _note_end(self, reason: FinishReason) -> None:
        """Arguments that are cut although nothing cut the reply are of no use to any caller."""
        calls = (item for item in self._items if isinstance(item, CallItem))
        if reason not in _CUT and any(call.is_cut for call in calls):
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        self._finish_reason = reason

    def finish(self) -> bytes:
        """What waits, what is open, and `response.completed` or `response.incomplete`."""
        events = self._close_all()
        whole = self._ended()
        return events + self._lifecycle(whole.status.encode(), whole.body)

    def whole(self) -> WholeResponse:
        """Instead of `finish`: the response as it is in the end."""
        self._close_all()
        return self._ended()

    def terminal_error(self, what: Problem) -> bytes:
        """`response.failed`; the items that were whole are in it."""
        opening = b"" if self._has_started else self.start()
        failed = self._response.render("failed", output=self._output, error=what)
        return opening + self._lifecycle(b"failed", failed)

    def _lifecycle(self, name: bytes, response: bytes) -> bytes:
        return self._writer.write(b"response." + name, b'"response":' + response)

    def _say(self, form: Form, text: str) -> bytes:
        """More of a text; a new item where the last one is of another kind."""
        last = self._items[-1] if self._items else None
        if isinstance(last, SaidItem) and last.form is form:
            return self._continue(last, len(self._items) - 1, text)
        item = SaidItem(form, self._token, len(self._items))
        return self._begin(item) + self._continue(item, len(self._items) - 1, text)

    def _begin(self, item: Item) -> bytes:
        self._items.append(item)
        if len(self._items) > _MOST_ITEMS:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        if len(self._items) - 1 == self._at:
            return item.open(self._writer)
        return self._move_on()

    def _continue(self, item: Item, at: int, text: str) -> bytes:
        """One more piece, now or when its item's turn comes."""
        self._room -= len(text)
        if self._room < 0:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
        if at > self._at:
            item.texts.hold(text)
            return b""
        item.texts.send(text)
        return item.say(self._writer, text)

    def _continue_call(self, at: int, text: str) -> bytes:
        item = self._items[at]
        assert isinstance(item, CallItem), "only calls are numbered"
        if at < self._at:
            if text.strip():  # after the end of its one object: no caller could use this call
                raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
            return b""
        item.follow(text)
        said = self._continue(item, at, text)
        return said + self._move_on() if at == self._at < len(self._items) - 1 else said

    def _move_on(self) -> bytes:
        """While something waits: close the open item if it is whole, and open the next."""
        out: list[bytes] = []
        while self._at < len(self._items) - 1 and self._items[self._at].is_whole:
            out += (self._close(is_cut=False), self._open_next())
        return b"".join(out)

    def _open_next(self) -> bytes:
        self._at += 1
        item = self._items[self._at]
        held = item.texts.take_held()
        opening = item.open(self._writer)
        return opening + item.say(self._writer, held) if held else opening

    def _close(self, *, is_cut: bool) -> bytes:
        status: ItemStatus = "incomplete" if is_cut else "completed"
        events, item = self._items[self._at].close(self._writer, status)
        self._output.append(item)
        return events

    def _close_all(self) -> bytes:
        """Close the open item and, one after another, those that wait."""
        is_cut = self._finish_reason in _CUT
        out: list[bytes] = []
        while self._at < len(self._items):
            item = self._items[self._at]
            is_last = self._at == len(self._items) - 1
            is_open_ended = is_last if isinstance(item, SaidItem) else not item.is_whole
            if not is_cut and isinstance(item, CallItem) and item.texts.is_empty:
                item.follow("{}")
                out.append(self._continue(item, self._at, "{}"))  # and no moving on: that is below
            out.append(self._close(is_cut=is_cut and is_open_ended))
            if is_last:
                self._at += 1
            else:
                out.append(self._open_next())
        return b"".join(out)

    def _ended(self) -> WholeResponse:
        reason = _CUT.get(self._finish_reason)
        status: ResponseStatus = "completed" if reason is None else "incomplete"
        body = self._response.render(
            status,
            output=self._output,
            usage=self._counts(),
            completed_at=int(self._now()) if reason is None else None,
            incomplete_reason=reason,
        )
        return WholeResponse(status, body)

    def _counts(self) -> bytes:
        if self._usage.completion_tokens is None:
            self.completion_estimate = estimate_tokens(item.texts.whole() for item in self._items)
        return render_usage(self._usage, self._prompt_estimate, self.completion_estimate or 0)
