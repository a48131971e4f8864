"""What the engine answers, piece by piece: thoughts, prose, JSON that fits a schema, calls."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Literal

import msgspec

from anvil_trio.demo.instance import instance_of
from anvil_trio.demo.text import compose

__all__ = ["Piece", "Wanted", "answer_to", "cut"]

_JSON_TOKEN = re.compile(r".{1,8}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Piece:
    """One token. The first piece of a call has its `name`; `call` numbers calls from 0."""

    kind: Literal["thought", "text", "call"]
    text: str = field(repr=False)
    call: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks of an answer's form: calls go before a schema, a schema before prose."""

    thinks: bool = False
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()  # names, and schemas of the arguments
    schema: Mapping[str, object] | None = None


def answer_to(prompt: str, wanted: Wanted) -> tuple[Piece, ...]:
    """The whole answer; equal prompts and wishes give equal answers in every process."""
    return (*_thoughts(prompt, wanted), *_said(prompt, wanted))


def cut(
    answer: tuple[Piece, ...], limit: int, *, is_endless: bool
) -> tuple[tuple[Piece, ...], Literal["stop", "length", "tool_calls"]]:
    """What fits into `limit` tokens, and why it ends; prose without end fills it exactly."""
    if is_endless and all(piece.kind == "text" for piece in answer):
        first, *others = answer
        again = cycle((*others, Piece("text", f" {first.text}")))
        return (first, *islice(again, limit - 1)), "length"
    if len(answer) > limit:
        return answer[:limit], "length"
    return answer, "tool_calls" if answer[-1].kind == "call" else "stop"


def _thoughts(prompt: str, wanted: Wanted) -> Iterator[Piece]:
    if wanted.thinks:
        for token in compose(f"thoughts on {prompt}"):
            yield Piece("thought", token)
            if token.endswith("."):
                break


def _said(prompt: str, wanted: Wanted) -> Iterator[Piece]:
    for number, (name, schema) in enumerate(wanted.calls):
        yield Piece("call", "", number, name)
        for token in _json_tokens(schema, prompt):
            yield Piece("call", token, number)
    if wanted.calls:
        return
    tokens = compose(prompt) if wanted.schema is None else _json_tokens(wanted.schema, prompt)
    for token in tokens:
        yield Piece("text", token)


def _json_tokens(schema: Mapping[str, object], prompt: str) -> Sequence[str]:
    return _JSON_TOKEN.findall(msgspec.json.encode(instance_of(schema, prompt)).decode())
