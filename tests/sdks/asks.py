"""The same questions in the words of the three APIs, and what an answer said, whichever way."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tests.support.final_said import Said

__all__ = ["Answer", "Ask", "City", "Pieces", "openai_tool"]


class City(BaseModel):
    """What a model is asked for."""

    city: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One question. `tools` are names of tools that take a city; `forced` asks for calls of all."""

    text: str = "hi"
    model: str = "chat"
    tools: Sequence[str] = ()
    thinks: bool = False
    schema: type[BaseModel] | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the SDK made of it, and the object of its own that it ended with, if any."""

    said: Said
    final: Any = field(default=None, repr=False)
    parsed: object = None


class Pieces:
    """Joins the events of a raw stream."""

    def __init__(self) -> None:
        self.thinking = self.text = self.reason = ""
        self.calls: dict[object, tuple[str, str]] = {}

    def call(self, key: object, name: str | None = None, more: str = "") -> None:
        """One piece of a call."""
        known, text = self.calls.get(key, ("", ""))
        self.calls[key] = (known or name or "", text + more)

    @property
    def answer(self) -> Answer:
        """All that was said."""
        calls = tuple((name, json.loads(text or "{}")) for name, text in self.calls.values())
        return Answer(Said(self.thinking, self.text, calls, self.reason))


PARAMETERS = {**City.model_json_schema(), "additionalProperties": False}


def openai_tool(name: str) -> dict[str, Any]:
    """A function in Chat's shape."""
    function = {"name": name, "description": "d", "parameters": PARAMETERS, "strict": True}
    return {"type": "function", "function": function}
