"""What a read-only page is asked, and how its query is read before anything else is done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from anvil_trio.errors import Problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.views.query import Values, parse_query
from anvil_trio.views.shape import Shape

__all__ = ["Page", "Question", "View", "asked"]


@dataclass(frozen=True, slots=True)
class Question:
    """A page's query, what its path names, for whose client, and which paths are not there."""

    query: bytes = b""
    named: str = ""
    is_anthropic: bool = False
    hidden: frozenset[str] = frozenset()


Page: TypeAlias = Shape | dict[str, JsonValue]
View: TypeAlias = Callable[[House, Generation, Question], Awaitable[Page | Problem]]
_Answer: TypeAlias = Callable[[House, Generation, Question, Values], Awaitable[Page | Problem]]


def asked(page: str, answer: _Answer) -> View:
    """A view that refuses a query which is not of this page before `answer` runs."""

    async def view(house: House, generation: Generation, question: Question) -> Page | Problem:
        values = parse_query(page, question.query, generation.config)
        if isinstance(values, Problem):
            return values
        return await answer(house, generation, question, values)

    return view
