"""A strict reader of Chat Completions streams: the final completion, or what breaks the grammar.

Pure. Written from what OpenAI's clients rely on alone; it shares no code with the translation.
"""

from pydantic import JsonValue

from anvil_trio.conform.grammar import (
    Frame,
    GrammarError,
    JsonObject,
    as_count,
    as_list,
    as_object,
    as_text,
    fail,
    frames_in,
    list_in,
    must,
    object_in,
    parse_json,
    parse_object,
    text_in,
)

__all__ = ["read_chat_stream"]

_CUT = {"length", "content_filter"}
_IDENTITY = ("id", "object", "created", "model")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class _Call:
    """One call of a tool, as far as it has come."""

    def __init__(self) -> None:
        self.said = {"id": "", "name": "", "arguments": ""}

    def take(self, piece: JsonObject, *, is_relayed: bool) -> None:
        """More of it."""
        told_function = piece.get("function")
        function = {} if told_function is None else as_object(told_function)
        for name, told in (("id", piece.get("id")), ("name", function.get("name"))):
            if told is not None and told != "":
                must(not self.said[name], "a call is named twice")
                self.said[name] = as_text(told)
        must(
            is_relayed or (self.said["id"] and self.said["name"]),
            "a call does not begin with its id and its name",
        )
        arguments = function.get("arguments")
        if arguments is not None:
            self.said["arguments"] += as_text(arguments)

    def expect_whole(self) -> None:
        """It ended, and nothing was said to have cut it."""
        must(self.said["id"] and self.said["name"], "a call without an id or a name")
        try:
            parse_json(self.said["arguments"])
        except GrammarError:
            fail("a cut call is passed off as whole")


class _Choice:
    """One answer, as far as it has come."""

    def __init__(self, index: int, *, is_relayed: bool) -> None:
        self._index, self._is_relayed = index, is_relayed
        self._role = ""
        self._texts: dict[str, str] = {}
        self._calls: list[_Call] = []
        self.finish: str | None = None

    def take(self, choice: JsonObject) -> None:
        """One piece of it."""
        must(self.finish is None, "something is said after the finish reason")
        delta = object_in(choice, "delta")
        self._take_role(delta.get("role"))
        for name in _TEXTS:
            if delta.get(name) is not None:
                self._texts[name] = self._texts.get(name, "") + text_in(delta, name)
        pieces = delta.get("tool_calls")
        for piece in [] if pieces is None else as_list(pieces):
            self._take_call(as_object(piece))
        if choice.get("finish_reason") is not None:
            self.finish = text_in(choice, "finish_reason")
            if self.finish not in _CUT:
                self._expect_whole_calls()

    def _take_role(self, role: JsonValue) -> None:
        must(self._role or role is not None, "an answer does not begin with its role")
        must(not self._role or role is None, "a second role")
        if role is not None:
            must(role == "assistant", "another role than the assistant's")
            self._role = "assistant"

    def _take_call(self, piece: JsonObject) -> None:
        at = as_count(piece.get("index"))
        if at == len(self._calls):
            must(piece.get("type") == "function", "a call without its type")
            self._calls.append(_Call())
        must(at < len(self._calls), "the indexes of calls have a gap")
        self._calls[at].take(piece, is_relayed=self._is_relayed)

    def _expect_whole_calls(self) -> None:
        ids = {call.said["id"] for call in self._calls}
        must(len(ids) == len(self._calls), "two calls with one id")
        for call in self._calls:
            call.expect_whole()

    @property
    def whole(self) -> JsonObject:
        """The answer as a whole reply has it, its calls flat."""
        message: JsonObject = {"role": self._role, **self._texts}
        if self._calls:
            message["tool_calls"] = [{**call.said} for call in self._calls]
        return {"index": self._index, "message": message, "finish_reason": self.finish}


class _Reader:
    def __init__(self, *, usage_wanted: bool, is_relayed: bool) -> None:
        self._usage_wanted, self._is_relayed = usage_wanted, is_relayed
        self.identity: JsonObject = {}
        self.choices: dict[int, _Choice] = {}
        self.usage: JsonObject | None = None
        self.error: JsonObject | None = None
        self.is_over = False

    def take(self, frame: Frame) -> None:
        """One event; raises GrammarError if it may not come here."""
        must(not self.is_over, "something follows the end")
        must(frame.name is None, "an event has a name")
        if frame.data == b"[DONE]":
            self._end()
            return
        chunk = parse_object(frame.data)
        if "error" in chunk:
            error = object_in(chunk, "error")
            must(error.get("message") and error.get("type"), "an error that says nothing")
            self.error, self.is_over = error, True
            return
        self._take_identity(chunk)
        must(self.usage is None, "only [DONE] may follow the counts")
        choices = list_in(chunk, "choices")
        for choice in map(as_object, choices):
            self._choice(as_count(choice.get("index"))).take(choice)
        self._take_usage(chunk.get("usage"), choices)

    def _end(self) -> None:
        must(self.choices, "the end without an answer")
        must(self._all_finished(), "the end without a finish reason")
        self.is_over = True

    def _all_finished(self) -> bool:
        return all(one.finish is not None for one in self.choices.values())

    def _choice(self, index: int) -> _Choice:
        fresh = _Choice(index, is_relayed=self._is_relayed)
        return self.choices.setdefault(index, fresh)

    def _take_identity(self, chunk: JsonObject) -> None:
        must(chunk.get("object") == "chat.completion.chunk", "not a chunk")
        identity = {name: chunk.get(name) for name in _IDENTITY}
        if not self._is_relayed:
            is_named = None not in identity.values() and identity["id"]
            must(is_named, "a chunk without an identity")
            must(self.identity in ({}, identity), "a chunk of another completion")
        self.identity = identity

    def _take_usage(self, told: JsonValue, choices: list[JsonValue]) -> None:
        if told is None:
            must(choices or self._is_relayed, "a chunk that says nothing")
            return
        usage = as_object(told)
        must(self._usage_wanted, "counts that were not asked for")
        must(not choices, "counts amid the answer")
        must(self._all_finished(), "counts before the finish reason")
        is_negative = any(isinstance(count, int) and count < 0 for count in usage.values())
        must(not is_negative, "a negative count")
        self.usage = usage


def read_chat_stream(
    stream: bytes, *, usage_wanted: bool = False, is_relayed: bool = False
) -> JsonObject:
    """The completion of a stream that ended well, or `{"error": ...}`. Raises GrammarError.

    A relayed stream is an engine's own Chat: the identity of its chunks, chunks that say nothing
    and when a call is told its id are the engine's affair.
    """
    reader = _Reader(usage_wanted=usage_wanted, is_relayed=is_relayed)
    for frame in frames_in(stream):
        reader.take(frame)
    must(reader.is_over, "the stream has no end")
    if reader.error is not None:
        return {"error": reader.error}
    choices: list[JsonValue] = [reader.choices[index].whole for index in sorted(reader.choices)]
    return {**reader.identity, "choices": choices, "usage": reader.usage}
