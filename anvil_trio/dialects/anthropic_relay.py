"""Replies of Messages engines for Messages callers: passed on, mended only where they must be.

An event keeps its bytes but for the changes that docs/dialects/anthropic_tiers.md lists.
"""

from collections import deque
from collections.abc import Iterable, Mapping

import msgspec

from anvil_trio.dialects.anthropic_events import AnthropicEvents, Heard, events_of_message
from anvil_trio.dialects.anthropic_mend import (
    mended_block,
    mended_call,
    mended_end,
    mended_reply,
    mended_start,
)
from anvil_trio.dialects.argument_scan import ArgumentScan
from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import FinishReason, RenderedReply, Usage
from anvil_trio.dialects.messages_errors import error_event
from anvil_trio.dialects.messages_stream import MessagesStream
from anvil_trio.dialects.raw_json import (
    encode,
    members_of,
    raw_of,
    with_members,
)
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem

__all__ = ["MessagesRelay", "relay_reply"]

_OF_BLOCKS = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
_CONTENT = (TextDelta, ReasoningDelta, CallBegan, ArgumentsDelta)
_CUTS_NOTHING = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})
_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
_MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_BROKEN = (msgspec.DecodeError, RecursionError)
_AGAIN: Mapping[type, Mapping[str, str]] = {
    TextDelta: {"type": "text", "text": ""},
    ReasoningDelta: {"type": "thinking", "thinking": "", "signature": ""},
}


def relay_reply(body: bytes, opening: bytes, model: str) -> RenderedReply:
    """The engine's reply with the caller's own spelling of the model and members it left out.

    `opening` is the message as ours would begin. Raises UpstreamFailed if it is not a reply.
    """
    events = events_of_message(body)
    try:
        call_ids = [event.call_id for event in events if isinstance(event, CallBegan)]
        whole = bytes(mended_reply(body, opening, raw_of(model), call_ids))
    except _BROKEN:  # nested just too deeply for being written anew
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None
    ends = [event for event in events if isinstance(event, Finished)]
    counts = [event.usage for event in events if isinstance(event, UsageReported)]
    return RenderedReply(
        body=whole,
        finish_reason=ends[-1].reason,
        usage=counts[-1] if counts else Usage(),
    )


class _Held:
    """A block that has begun: what it is, and its events as long as another one is open.

    `scan` is that of a call's arguments. `index` is the engine's.
    """

    __slots__ = ("events", "index", "is_stopped", "scan")

    def __init__(self, index: int, scan: ArgumentScan | None = None) -> None:
        self.index, self.scan = index, scan
        self.events: list[bytes] = []
        self.is_stopped = False

    @property
    def may_close(self) -> bool:
        """Whether it could be whole, should another block wish to begin."""
        return self.scan is None or self.scan.is_whole


class MessagesRelay:
    """Hands one stream on (`StreamTranslator`), blocks strictly one after another.

    An open block ends where the next one begins, since some engines tell of its end only later; but
    what begins while a call is open waits until that call's arguments are whole.
    """

    def __init__(
        self, decoder: AnthropicEvents, encoder: MessagesStream, model: str, max_held_bytes: int
    ) -> None:
        self.has_content = False
        self._decoder, self._encoder = decoder, encoder
        self._model = raw_of(model)
        self._room = max_held_bytes
        self._failure: Problem | None = None
        self._has_started = self._has_ended = self._has_delta = False
        self._index = -1  # ours, of the newest block
        self._open: _Held | None = None
        self._waiting: deque[_Held] = deque()
        self._scans: dict[int, ArgumentScan] = {}

    @property
    def events(self) -> int:
        """Real events so far."""
        return self._decoder.events

    @property
    def is_finished(self) -> bool:
        """Whether a stop reason was seen, and what came before it can be used."""
        return self._decoder.is_finished and self._failure is None

    @property
    def is_done(self) -> bool:
        """Whether the engine said that nothing more will come."""
        return self._decoder.is_done and self._failure is None

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the reply ended, once that is known."""
        return self._decoder.finish_reason

    @property
    def is_finish_reason_missing(self) -> bool:
        """Whether the engine ended well without saying why."""
        return self._decoder.is_finish_reason_missing

    completion_estimate = None  # only the engine's own counts are passed on

    @property
    def usage(self) -> Usage:
        """The engine's counts so far."""
        return self._decoder.usage

    @property
    def failure(self) -> Problem | None:
        """What broke the stream."""
        return self._failure or self._decoder.failure

    def feed(self, data: bytes) -> bytes:
        """Take one read; all whole events it completes, up to a fault."""
        out: list[bytes] = []
        if not self._is_over:
            self._pass_all(self._decoder.hear(data), out)
        return b"".join(out)

    def feed_whole(self, body: bytes) -> bytes:
        """Take one JSON reply; the whole stream, closing included."""
        said = self._decoder.feed_whole(body)
        if self.failure is not None:
            return b""
        self.has_content = any(isinstance(event, _CONTENT) for event in said)
        self._has_ended = True
        encoder = self._encoder
        return b"".join([encoder.start(), *map(encoder.encode, said), encoder.finish()])

    def close(self) -> bytes:
        """The engine closed cleanly: the closing bytes, or `failure` is set."""
        out: list[bytes] = []
        if not self._is_over:
            self._pass_all(self._decoder.hear_rest(), out)
            if not self._is_over:
                out.append(self.finish_now())
        return b"".join(out)

    def finish_now(self) -> bytes:
        """The closing bytes, once; for a stream that `is_finished`, whatever came after that."""
        out: list[bytes] = []
        if not self._has_ended and self._failure is None:
            self._finish(out)
        return b"".join(out)

    @staticmethod
    def terminal_error(what: Problem) -> bytes:
        """`error`, after which nothing comes."""
        return error_event(what)

    @property
    def _is_over(self) -> bool:
        return self._has_ended or self.failure is not None

    def _pass_all(self, heard: Iterable[Heard], out: list[bytes]) -> None:
        for one in heard:
            if self._failure is None:
                self._scan(one)
                self._pass_one(one, out)

    def _pass_one(self, heard: Heard, out: list[bytes]) -> None:
        """Nothing of an event that is nested just too deeply for being written anew."""
        made: list[bytes] = []
        try:
            self._pass(heard, made)
        except _BROKEN:
            self._failure = problem(Code.UPSTREAM_ERROR)
            return
        self.has_content = self.has_content or any(
            isinstance(said, _CONTENT) for said in heard.says
        )
        out += made

    def _scan(self, heard: Heard) -> None:
        """An argument that was cut never ends as tool use."""
        for said in heard.says:
            if isinstance(said, CallBegan):
                self._scans[said.number] = ArgumentScan()
            elif isinstance(said, ArgumentsDelta):
                self._scans[said.number].feed(said.text)
            elif isinstance(said, Finished) and said.reason in _CUTS_NOTHING and self._has_cuts:
                self._failure = problem(Code.UPSTREAM_ERROR)

    @property
    def _has_cuts(self) -> bool:
        return any(scan.is_cut for scan in self._scans.values())

    def _pass(self, heard: Heard, out: list[bytes]) -> None:
        match heard.event.type:
            case _ if self._failure is not None:
                return
            case "message_start":
                self._start(heard.data, out)
            case "ping":
                out += [_PING] if self._has_started else []
            case "message_stop":
                self._finish(out)
            case kind if kind.isidentifier():
                self._begin_without_start(out)
                self._pass_within(kind, heard, out)

    def _pass_within(self, kind: str, heard: Heard, out: list[bytes]) -> None:
        """What may come between the start and the stop; no content after the end was told."""
        if kind in _OF_BLOCKS:
            if not self._has_delta:
                self._pass_block(heard, out)
        elif kind == "message_delta":
            self._close_all(out)
            self._has_delta = self._has_delta or self._decoder.is_finished
            out.append(
                _rendered(
                    b"message_delta", mended_end(heard.data, self.usage.completion_tokens or 0)
                )
            )
        else:
            out.append(_rendered(kind.encode(), heard.data))

    def _pass_block(self, heard: Heard, out: list[bytes]) -> None:
        event = heard.event
        if event.type == "content_block_stop":
            self._stop(event.index, out)
        elif event.type == "content_block_delta":
            if event.delta is not None and not event.delta.is_hollow:
                self._continue(heard, out)
        elif event.type == "content_block_start" and event.content_block is not None:
            self._begin(heard, event.content_block.type, out)

    def _start(self, data: bytes, out: list[bytes]) -> None:
        """The engine's opening with all that ours has."""
        if not self._has_started:
            self._has_started = True
            start = mended_start(data, self._encoder.opening(), self._model)
            out.append(_rendered(b"message_start", start))

    def _begin_without_start(self, out: list[bytes]) -> None:
        if not self._has_started:
            self._has_started = True
            out.append(self._encoder.start())

    def _begin(self, heard: Heard, kind: str, out: list[bytes]) -> None:
        began = next((said for said in heard.says if isinstance(said, CallBegan)), None)
        block = _Held(heard.event.index, None if began is None else self._scans[began.number])
        sent = members_of(heard.data)["content_block"]
        whole = mended_block(sent, kind) if began is None else mended_call(sent, began.call_id)
        self._hold(block, bytes(with_members(heard.data, {"content_block": whole})))
        self._waiting.append(block)
        self._advance(out)

    def _continue(self, heard: Heard, out: list[bytes]) -> None:
        index = heard.event.index
        if self._open is not None and index == self._open.index:
            out.append(self._numbered(heard.data))
            self._advance(out)
            return
        block = next((one for one in reversed(self._waiting) if one.index == index), None)
        if block is None:
            block = self._begun_again(heard)
        if block is not None:
            self._hold(block, heard.data)
            self._advance(out)

    def _begun_again(self, heard: Heard) -> _Held | None:
        """A new block for text that goes on after another block began, as if the old one had ended.

        A signature that comes so late is dropped; arguments cannot go on.
        """
        kinds = {type(said) for said in heard.says}
        content = next((start for kind, start in _AGAIN.items() if kind in kinds), None)
        if content is None:
            if ArgumentsDelta in kinds:
                self._failure = problem(Code.UPSTREAM_ERROR)
            return None
        block = _Held(heard.event.index)
        start = {"type": "content_block_start", "index": 0, "content_block": content}
        self._hold(block, encode(start))
        self._waiting.append(block)
        return block

    def _stop(self, index: int, out: list[bytes]) -> None:
        if self._open is not None and index == self._open.index:
            self._close(out)
            self._advance(out)
        for block in self._waiting:
            block.is_stopped = block.is_stopped or block.index == index

    def _hold(self, block: _Held, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            self._failure = problem(Code.UPSTREAM_ERROR)
        block.events.append(data)

    def _advance(self, out: list[bytes]) -> None:
        """Open what waits, as far as what is open may close."""
        while self._waiting and (self._open is None or self._open.may_close):
            self._next(out)

    def _next(self, out: list[bytes]) -> None:
        self._close(out)
        block = self._open = self._waiting.popleft()
        self._index += 1
        begin, *rest = block.events
        self._room += sum(map(len, block.events))
        block.events.clear()
        begun = with_members(begin, {"index": raw_of(self._index)})
        out.append(_rendered(b"content_block_start", begun))
        out += [self._numbered(data) for data in rest]
        if block.is_stopped:
            self._close(out)

    def _numbered(self, data: bytes) -> bytes:
        """A delta of the open block with our index, which is nearly always the engine's."""
        if self._open is None or self._open.index != self._index:
            data = bytes(with_members(data, {"index": raw_of(self._index)}))
        return _rendered(b"content_block_delta", data)

    def _close(self, out: list[bytes]) -> None:
        if self._open is not None:
            self._open = None
            out.append(_STOP % self._index)

    def _close_all(self, out: list[bytes]) -> None:
        while self._waiting:
            self._next(out)
        self._close(out)

    def _finish(self, out: list[bytes]) -> None:
        """What is open, a `message_delta` where the engine left it out, and `message_stop`."""
        self._has_ended = True
        self._begin_without_start(out)
        self._close_all(out)
        if not self._has_delta:
            reason = "tool_use" if self._scans else "end_turn"
            delta = {"stop_reason": reason, "stop_sequence": None}
            counts = {"output_tokens": self.usage.completion_tokens or 0}
            whole = {"type": "message_delta", "delta": delta, "usage": counts}
            out.append(_rendered(b"message_delta", encode(whole)))
        out.append(_MESSAGE_STOP)


def _rendered(name: bytes, data: bytes | msgspec.Raw) -> bytes:
    flat = bytes(data)
    if b"\n" in flat:  # between tokens only: within a string it is escaped
        flat = flat.replace(b"\n", b" ")
    return b"event: %b\ndata: %b\n\n" % (name, flat)
