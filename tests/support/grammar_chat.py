"""A strict reader of Chat Completions streams: the final completion, or what breaks the grammar.

Written from what OpenAI's clients rely on alone; it shares no code with the translation.
"""

import json
from typing import Any, NoReturn

__all__ = ["GrammarError", "read_stream"]

_CUT = {"length", "content_filter"}
_IDENTITY = ("id", "object", "created", "model")
_TEXTS = ("content", "reasoning_content", "refusal")


class GrammarError(Exception):
    """The first thing that a stream does wrong."""


def fail(why: str) -> NoReturn:
    """Refuse the stream."""
    raise GrammarError(why)


def datas_in(stream: bytes) -> list[str]:
    """The data of all events, each of one line; comments dropped."""
    blocks = stream.split(b"\n\n")
    if blocks.pop() != b"":
        fail("the last event has no blank line")
    datas = []
    for block in blocks:
        lines = [line for line in block.split(b"\n") if not line.startswith(b":")]
        if len(lines) != 1 or not lines[0].startswith(b"data: "):
            fail("an event is not one data line")
        datas.append(lines[0][6:].decode())
    return datas


class _Choice:
    """One answer, as far as it has come."""

    def __init__(self, index: int, *, is_relayed: bool) -> None:
        self.index, self.is_relayed = index, is_relayed
        self.message: dict[str, Any] = {}
        self.calls: list[dict[str, Any]] = []
        self.finish: str | None = None

    def take(self, choice: dict[str, Any]) -> None:
        """One piece of it."""
        if self.finish is not None:
            fail("something is said after the finish reason")
        delta = choice["delta"]
        self._take_role(delta.get("role"))
        for name in _TEXTS:
            if delta.get(name) is not None:
                self.message[name] = self.message.get(name, "") + delta[name]
        for piece in delta.get("tool_calls") or ():
            self._take_call(piece)
        self.finish = choice["finish_reason"]
        if self.finish is not None and self.finish not in _CUT:
            self._expect_whole_calls()

    def _take_role(self, role: str | None) -> None:
        if not self.message and role is None:
            fail("an answer does not begin with its role")
        if self.message and role is not None:
            fail("a second role")
        if role is not None:
            if role != "assistant":
                fail("another role than the assistant's")
            self.message["role"] = role

    def _take_call(self, piece: dict[str, Any]) -> None:
        at, function = piece["index"], piece.get("function") or {}
        if at == len(self.calls):
            if piece.get("type") != "function":
                fail("a call without its type")
            self.calls.append({"id": "", "name": "", "arguments": ""})
        elif not 0 <= at < len(self.calls):
            fail("the indexes of calls have a gap")
        call = self.calls[at]
        for name, told in (("id", piece.get("id")), ("name", function.get("name"))):
            if told and call[name]:
                fail("a call is named twice")
            call[name] = told or call[name]
        if not self.is_relayed and not (call["id"] and call["name"]):
            fail("a call does not begin with its id and its name")
        call["arguments"] += function.get("arguments") or ""

    def _expect_whole_calls(self) -> None:
        if len({call["id"] for call in self.calls}) < len(self.calls):
            fail("two calls with one id")
        for call in self.calls:
            if not call["id"] or not call["name"]:
                fail("a call without an id or a name")
            try:
                json.loads(call["arguments"])
            except ValueError:
                fail("a cut call is passed off as whole")

    @property
    def whole(self) -> dict[str, Any]:
        """The answer as a whole reply has it."""
        calls = {"tool_calls": self.calls} if self.calls else {}
        return {
            "index": self.index,
            "message": {**self.message, **calls},
            "finish_reason": self.finish,
        }


class _Reader:
    def __init__(self, *, usage_wanted: bool, is_relayed: bool) -> None:
        self.usage_wanted, self.is_relayed = usage_wanted, is_relayed
        self.identity: dict[str, Any] = {}
        self.choices: dict[int, _Choice] = {}
        self.usage: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.is_over = False

    def take(self, data: str) -> None:
        """One event; raises GrammarError if it may not come here."""
        if self.is_over:
            fail("something follows the end")
        if data == "[DONE]":
            if not self.choices or any(one.finish is None for one in self.choices.values()):
                fail("the end without a finish reason")
            self.is_over = True
            return
        chunk = json.loads(data)
        if "error" in chunk:
            if not chunk["error"]["message"] or not chunk["error"]["type"]:
                fail("an error that says nothing")
            self.error, self.is_over = chunk["error"], True
            return
        self._take_identity(chunk)
        if self.usage is not None:
            fail("only [DONE] may follow the counts")
        for choice in chunk["choices"]:
            index = choice["index"]
            self._choice(index).take(choice)
        self._take_usage(chunk)

    def _choice(self, index: int) -> _Choice:
        fresh = _Choice(index, is_relayed=self.is_relayed)
        return self.choices.setdefault(index, fresh)

    def _take_identity(self, chunk: dict[str, Any]) -> None:
        if chunk["object"] != "chat.completion.chunk":
            fail("not a chunk")
        identity = {name: chunk.get(name) for name in _IDENTITY}
        if not self.is_relayed and (None in identity.values() or not identity["id"]):
            fail("a chunk without an identity")
        if self.identity not in ({}, identity) and not self.is_relayed:
            fail("a chunk of another completion")
        self.identity = identity

    def _take_usage(self, chunk: dict[str, Any]) -> None:
        usage = chunk.get("usage")
        if usage is None:
            if not chunk["choices"] and not self.is_relayed:
                fail("a chunk that says nothing")
            return
        if not self.usage_wanted:
            fail("counts that were not asked for")
        if chunk["choices"]:
            fail("counts amid the answer")
        if any(one.finish is None for one in self.choices.values()):
            fail("counts before the finish reason")
        if any(count < 0 for count in usage.values() if isinstance(count, int)):
            fail("a negative count")
        self.usage = usage


def read_stream(
    stream: bytes, *, usage_wanted: bool = False, is_relayed: bool = False
) -> dict[str, Any]:
    """The completion of a stream that ended well, or `{"error": ...}`. Raises GrammarError.

    A relayed stream is an engine's own Chat: the identity of its chunks, chunks that say nothing
    and when a call is told its id are the engine's affair.
    """
    reader = _Reader(usage_wanted=usage_wanted, is_relayed=is_relayed)
    for data in datas_in(stream):
        reader.take(data)
    if not reader.is_over:
        fail("the stream has no end")
    if reader.error is not None:
        return {"error": reader.error}
    choices = [reader.choices[index].whole for index in sorted(reader.choices)]
    return {**reader.identity, "choices": choices, "usage": reader.usage}
