"""The content blocks of one Messages stream, strictly one after another.

Anthropic's grammar has one open block at a time, while engines may speak of several calls by turns.
What belongs to the open block leaves at once; what belongs to a later one waits until the open
block is whole: a text as soon as anything else begins, a call when its arguments are.
"""

from collections import deque
from collections.abc import Mapping

from anvil_trio.dialects.argument_scan import ArgumentScan
from anvil_trio.dialects.raw_json import encode
from anvil_trio.errors import Code, UpstreamFailed, problem

__all__ = ["Blocks"]

_BROKEN_REPLY = Code.UPSTREAM_ERROR
_START = b"event: content_block_start\ndata: "
_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":'
_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
_TEXT = b'{"type":"text_delta","text":'
_THINKING = b'{"type":"thinking_delta","thinking":'
_SIGNATURE = b'{"type":"signature_delta","signature":'
_INPUT = b'{"type":"input_json_delta","partial_json":'


class _Block:
    """One block: how it begins, and what of it waits."""

    __slots__ = ("before", "is_closed", "pieces", "scan", "start")

    def __init__(self, start: Mapping[str, object], scan: ArgumentScan | None = None) -> None:
        self.start = start
        self.scan = scan
        self.before = b""  # of every delta, once the block is open
        self.pieces: list[tuple[bytes, str]] = []
        self.is_closed = False

    @property
    def kind(self) -> object:
        """The block's type."""
        return self.start["type"]

    @property
    def may_close(self) -> bool:
        """Whether it could be whole, should another block wish to begin."""
        return self.scan is None or self.scan.is_whole


class Blocks:
    """Blocks in the order in which they began, numbered from 0 without gaps.

    Each method adds the bytes that may leave now. Not more than `max_waiting_bytes` wait; beyond,
    and for arguments of a block that was closed, UpstreamFailed is raised.
    """

    def __init__(self, max_waiting_bytes: int) -> None:
        self._max_waiting = max_waiting_bytes
        self._waiting_bytes = 0
        self._open: _Block | None = None
        self._waiting: deque[_Block] = deque()
        self._calls: dict[int, _Block] = {}
        self._index = -1  # of the newest block that was opened

    @property
    def has_calls(self) -> bool:
        """Whether a tool is called in any block."""
        return bool(self._calls)

    @property
    def has_cut_calls(self) -> bool:
        """Whether the arguments of any call have begun and not ended."""
        return any(block.scan is not None and block.scan.is_cut for block in self._calls.values())

    def text(self, text: str, out: list[bytes]) -> None:
        """More of the answer, in the newest block or one of its own."""
        self._add(self._newest("text", {"type": "text", "text": ""}, out), _TEXT, text, out)

    def thinking(self, text: str, out: list[bytes]) -> None:
        """More thoughts; the signature, which no engine of this kind gives, is left empty."""
        self._add(self._thought(out), _THINKING, text, out)

    def signature(self, text: str, out: list[bytes]) -> None:
        """The engine's own signature of the thoughts before."""
        self._add(self._thought(out), _SIGNATURE, text, out)

    def begin_call(self, number: int, call_id: str, name: str, out: list[bytes]) -> None:
        """A call of a tool."""
        start = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        self._calls[number] = self._begin(_Block(start, ArgumentScan()), out)

    def arguments(self, number: int, text: str, out: list[bytes]) -> None:
        """More arguments of a call that has begun."""
        block = self._calls[number]
        assert block.scan is not None, "calls are scanned"
        if block.is_closed:
            if text.strip():
                raise UpstreamFailed(problem(_BROKEN_REPLY))
            return
        block.scan.feed(text)
        self._add(block, _INPUT, text, out)
        if self._waiting and block is self._open:
            self._advance(out)

    def close_all(self, out: list[bytes]) -> None:
        """All that waits, and the end of every block."""
        while self._open is not None or self._waiting:
            self._next(out)

    def _thought(self, out: list[bytes]) -> _Block:
        return self._newest("thinking", {"type": "thinking", "thinking": "", "signature": ""}, out)

    def _newest(self, kind: str, start: Mapping[str, object], out: list[bytes]) -> _Block:
        """The newest block if it is of this kind, else a new one."""
        newest = self._waiting[-1] if self._waiting else self._open
        if newest is not None and newest.kind == kind:
            return newest
        return self._begin(_Block(start), out)

    def _begin(self, block: _Block, out: list[bytes]) -> _Block:
        self._waiting.append(block)
        self._advance(out)
        return block

    def _add(self, block: _Block, kind: bytes, text: str, out: list[bytes]) -> None:
        if block is self._open:
            out.append(b"%b%b%b}}\n\n" % (block.before, kind, encode(text)))
            return
        self._waiting_bytes += len(text)
        if self._waiting_bytes > self._max_waiting:
            raise UpstreamFailed(problem(_BROKEN_REPLY))
        block.pieces.append((kind, text))

    def _advance(self, out: list[bytes]) -> None:
        """Open what waits, as far as what is open may close."""
        while self._waiting and (self._open is None or self._open.may_close):
            self._next(out)

    def _next(self, out: list[bytes]) -> None:
        """Close what is open, and open what waits if anything does."""
        if self._open is not None:
            self._open.is_closed = True
            out.append(_STOP % self._index)
            self._open = None
        if self._waiting:
            self._index += 1
            block = self._open = self._waiting.popleft()
            block.before = _DELTA % self._index
            start = {"type": "content_block_start", "index": self._index}
            out += (_START, encode({**start, "content_block": block.start}), b"\n\n")
            for kind, text in block.pieces:
                self._waiting_bytes -= len(text)
                self._add(block, kind, text, out)
            block.pieces.clear()
