"""One engine's chat stream for a Chat caller, event by event.

An event keeps its bytes but for `model` and what docs/dialects.md lists. Nothing here is shared
between streams, so no caller can see another's calls, finish reason or counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from anvil_trio.dialects.chat_answer import ROLE, Answer
from anvil_trio.dialects.chat_chunks import (
    CHUNK,
    CHUNK_KIND,
    Choice,
    Chunk,
    Delta,
    DeltaEdit,
    edit_choices,
    renamed,
    spelled_model,
    with_model,
    with_reasoning,
    without_role,
)
from anvil_trio.dialects.chat_errors import error_event
from anvil_trio.dialects.chat_reply import chunks_of
from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.raw_json import ABSENT, NULL, encode, is_utf8, raw_of, with_members
from anvil_trio.dialects.sse import DONE, DONE_EVENT, SseDecoder, SseEvent, SseTooLong, render_event
from anvil_trio.dialects.text_runs import TextRuns
from anvil_trio.dialects.usage import usage_of
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["ChatStream"]

_MAX_ANSWERS = 128  # of one stream, unless the caller asked for more
_MAX_CALLS = 512  # of one answer: what is kept of a stream stays small, whatever an engine sends
_MAX_IDENTITY_BYTES = 1024


class _Identity(msgspec.Struct, omit_defaults=True, gc=False):
    """What the chunks of one stream share, for chunks of our own."""

    id: str | None = None
    created: int | None = None


_IDENTITY = msgspec.json.Decoder(_Identity)


class ChatStream:
    """Translates one stream (`StreamTranslator`); its end rules are in docs/dialects.md.

    `model` is the caller's own spelling. `choices` is how many answers were asked for: the stream
    `is_finished` when that many have a finish reason and no other has begun.
    """

    __slots__ = (
        "_answers",
        "_choices",
        "_decoder",
        "_engine_model",
        "_finished",
        "_has_ended",
        "_identity",
        "_model",
        "_runs",
        "_usage_wanted",
        "events",
        "failure",
        "finish_reason",
        "has_content",
        "is_done",
        "is_finish_reason_missing",
        "is_finished",
        "usage",
    )

    completion_estimate = None  # only the engine's own counts are passed on

    def __init__(
        self, model: str, *, usage_wanted: bool, max_event_bytes: int, choices: int = 1
    ) -> None:
        self.events = 0
        self.has_content = False
        self.is_finished = False
        self.is_done = False
        self.finish_reason: FinishReason | None = None
        self.is_finish_reason_missing = False
        self.usage = Usage()
        self.failure: Problem | None = None
        self._model = encode(model)
        self._usage_wanted = usage_wanted
        self._choices = choices
        self._decoder = SseDecoder(max_event_bytes)
        self._runs = TextRuns(max_event_bytes)
        self._engine_model: bytes | None = None  # the member `model` as every event has spelled it
        self._identity: _Identity | None = None
        self._answers: dict[int, Answer] = {}
        self._finished = 0  # answers that have a finish reason
        self._has_ended = False  # the closing bytes have been handed out

    def feed(self, data: bytes) -> bytes:
        """Take one read; all whole events it completes, up to a fault."""
        if self._is_over:
            return b""
        out: list[bytes] = []
        try:
            self._take_whole(self._decoder.whole(data), out)
        except SseTooLong:
            self._fail(problem(Code.UPSTREAM_ERROR))
        if self._decoder.is_too_long:
            self._fail(problem(Code.UPSTREAM_ERROR))
        return b"".join(out)

    def feed_whole(self, body: bytes) -> bytes:
        """Take one JSON reply where a stream was asked for; the whole stream, closing included."""
        out: list[bytes] = []
        try:
            chunks = chunks_of(body)
        except UpstreamFailed as failed:
            self._fail(failed.problem)
        else:
            flat = (data.replace(b"\r", b" ") for data in chunks)
            self._take_all((SseEvent(None, data) for data in [*flat, DONE]), out)
        return b"".join(out)

    def close(self) -> bytes:
        """The engine closed cleanly: the closing bytes if all that began has finished."""
        out: list[bytes] = []
        rest = self._decoder.finish()  # some engines leave out the last blank line
        if rest is not None and not self._is_over and not self._is_whole:
            self._take_all([rest], out)
        if not self._is_over:
            if self._is_whole:
                out.append(self.finish_now())
            else:
                self._fail(problem(Code.UPSTREAM_ERROR))
        return b"".join(out)

    def finish_now(self) -> bytes:
        """The closing bytes, once; for a stream that `is_finished`."""
        if self._has_ended:
            return b""
        self._has_ended = True
        return DONE_EVENT

    def terminal_error(self, what: Problem) -> bytes:
        """The last event of a stream that failed; no `[DONE]` follows it."""
        return error_event(what)

    @property
    def _is_over(self) -> bool:
        return self._has_ended or self.failure is not None

    @property
    def _is_whole(self) -> bool:
        """Whether there is an answer, and every one that began has its finish reason."""
        return 0 < len(self._answers) == self._finished

    def _fail(self, what: Problem) -> None:
        if self.failure is None and not self._has_ended:
            self.failure = what

    def _take_whole(self, whole: bytes, out: list[bytes]) -> None:
        """The events of one read: runs of text at once, whatever else one by one."""
        at = 0
        while at < len(whole):
            size = self._take_run(whole, at, out)
            if size:
                at += size
                continue
            end = whole.find(b"\n\n", at)
            if end < 0:
                break  # a line feed more than a blank line has
            event = self._decoder.event_in(whole[at:end])
            at = end + 2
            if event is not None:
                self._take_all([event], out)
                if self._is_over:
                    break

    def _take_run(self, whole: bytes, at: int, out: list[bytes]) -> int:
        """Hand on events that are nothing but text, all with the same `model`; how many bytes.

        None as long as more text of the answer numbered 0 may tell something that is not known.
        """
        member = self._engine_model
        if member is None or not self.has_content or self.is_finished or 0 not in self._answers:
            return 0
        run = self._runs.find(whole, at)
        if run is None:
            return 0
        data, chunks = run
        said = renamed(data, member, self._model, len(chunks))
        if said is None:
            self._engine_model = None  # it is spelled in another way now
            return 0
        self.events += len(chunks)
        out.append(said)
        return len(data)

    def _take_all(self, events: Iterable[SseEvent], out: list[bytes]) -> None:
        for event in events:
            self.events += 1
            if event.data == DONE:
                self._take_done(out)
            else:
                try:
                    self._take(event, out)
                except (msgspec.DecodeError, RecursionError):
                    self._fail(problem(Code.UPSTREAM_ERROR))
            if self._is_over:
                break

    def _take(self, event: SseEvent, out: list[bytes]) -> None:
        """One event: learn from it, change what must change, hand it on. Raises if malformed."""
        chunk = self._decoded(event)
        if chunk is None:
            return
        data = event.data
        if b"\n" in data:  # between tokens only: within a string it is escaped
            data = data.replace(b"\n", b" ")
        if chunk.usage is not ABSENT and chunk.usage != NULL:
            self.usage = usage_of(chunk.usage)
            if not self._usage_wanted:
                if not chunk.choices:
                    return
                data = bytes(with_members(data, {"usage": None}))
        edits = self._take_choices(chunk.choices, out) if chunk.choices else {}
        if edits or not chunk.kind or chunk.choices is None:
            data = _edited(data, chunk, edits)
        if self.failure is None:
            out += (b"data: ", with_model(data, chunk.model, self._model), b"\n\n")

    def _decoded(self, event: SseEvent) -> Chunk | None:
        """The chunk in an event; None, with `failure` set, if it is an error."""
        data = event.data
        chunk = CHUNK.decode(data)
        if not is_utf8(data):  # the decoder looks only at what it decodes
            self._fail(problem(Code.UPSTREAM_ERROR))
            return None
        if chunk.is_error or event.event == "error":
            self._fail(error_problem(data))
            return None
        if self._identity is None:
            self._identity = _identity_in(data)
        if self._engine_model is None:
            self._engine_model = spelled_model(data, chunk.model)
        return chunk

    def _take_choices(self, choices: Iterable[Choice], out: list[bytes]) -> dict[int, DeltaEdit]:
        """Learn from each choice of an event; what must change in them, by place."""
        edits = {}
        for place, choice in enumerate(choices):
            index = choice.index or 0
            answer = self._answers.get(index) or self._begin(index)
            if choice.finish_reason:
                self._finish(answer, choice.finish_reason)
            edit = self._take_choice(choice, answer)
            if edit is not None:
                edits[place] = edit
            if choice.finish_reason:
                self._fill(index, answer, out)
        return edits

    def _take_choice(self, choice: Choice, answer: Answer) -> DeltaEdit | None:
        """What must change in one choice, or None."""
        delta = choice.delta
        if delta is None or choice.index is None:
            return self._take_poor(choice, answer)
        self.has_content = self.has_content or delta.says_something
        if (
            delta.tool_calls
            or delta.reasoning
            or delta.reasoning_text
            or delta.role is not None
            or not answer.has_begun
        ):
            return self._take_rich(answer, delta)
        return None

    def _take_poor(self, choice: Choice, answer: Answer) -> DeltaEdit:
        """A choice that lacks what clients read without looking."""
        delta = choice.delta or Delta()
        self.has_content = self.has_content or delta.says_something
        edit = self._take_rich(answer, delta) or DeltaEdit()
        return replace(edit, choice={"index": raw_of(choice.index or 0)})

    def _take_rich(self, answer: Answer, delta: Delta) -> DeltaEdit | None:
        """A delta with more than plain text in it."""
        edit = answer.take(delta)
        if answer.calls > _MAX_CALLS:
            self._fail(problem(Code.UPSTREAM_ERROR))
        return edit

    def _finish(self, answer: Answer, reason: str) -> None:
        if answer.finish_reason is None:
            self._finished += 1
        self.finish_reason = answer.finish(reason)
        self.is_finished = self._is_whole and self._finished >= self._choices

    def _begin(self, index: int) -> Answer:
        answer = self._answers[index] = Answer()
        self.is_finished = False
        if len(self._answers) > max(_MAX_ANSWERS, self._choices):
            self._fail(problem(Code.UPSTREAM_ERROR))
        return answer

    def _take_done(self, out: list[bytes]) -> None:
        """The engine's last word; an answer without a finish reason is given one."""
        self.is_done = self.is_finished = True
        for index, answer in (self._answers or {0: Answer()}).items():
            if answer.finish_reason is None:
                self.is_finish_reason_missing = True
                self.finish_reason = answer.end_without_reason()
                self._fill(index, answer, out)
                delta = {} if answer.has_begun else {"role": ROLE}
                out.append(self._made(index, delta, self.finish_reason))
        out.append(self.finish_now())

    def _fill(self, index: int, answer: Answer, out: list[bytes]) -> None:
        """Give calls that have ended without arguments their `{}`, in a chunk before the end."""
        calls = [{"index": at, "function": {"arguments": "{}"}} for at in answer.take_unfilled()]
        if calls:
            out.append(self._made(index, {"tool_calls": calls}, None))

    def _made(self, index: int, delta: object, reason: FinishReason | None) -> bytes:
        """A chunk of our own, with the identity of the engine's."""
        chunk = {
            "object": CHUNK_KIND,
            "model": msgspec.Raw(self._model),
            "choices": [{"index": index, "delta": delta, "finish_reason": reason}],
        }
        identity = raw_of(self._identity or _Identity())
        return render_event(bytes(with_members(identity, {k: raw_of(v) for k, v in chunk.items()})))


def _edited(data: bytes, chunk: Chunk, edits: Mapping[int, DeltaEdit]) -> bytes:
    """An event with its choices changed, the short way where there is one."""
    missing = chunk.missing
    if missing:
        data = bytes(with_members(data, missing))
    if not edits:
        return data
    if len(edits) == 1:
        (edit,) = edits.values()
        short = _shortly(data, edit)
        if short is not None:
            return short
    return edit_choices(data, "delta", edits)


def _shortly(data: bytes, edit: DeltaEdit) -> bytes | None:
    """The same for one of two edits that some engines need in every event; None for others."""
    if edit.calls or edit.choice or len(edit.said) != 1:
        return None
    ((name, value),) = edit.said.items()
    if value is not None and name == "reasoning_content":
        return with_reasoning(data, value)
    return without_role(data) if value is None else None


def _identity_in(data: bytes) -> _Identity:
    """The identity in a stream's first chunk; empty where it is not of the usual kind."""
    try:
        found = _IDENTITY.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _Identity()
    return found if len(found.id or "") <= _MAX_IDENTITY_BYTES else _Identity()
