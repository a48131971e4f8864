"""What the SDKs have in common: an answer in one piece, and one event by event."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tests.sdks.asks import Answer, Ask, Pieces

__all__ = ["AsyncSpeaker", "SyncSpeaker", "Words"]


class FieldsOf(Protocol):
    """The arguments for an SDK; raw ones have a schema where others have its type."""

    def __call__(self, ask: Ask, *, is_raw: bool = False) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Words:
    """How one SDK puts a question, and how its events and its answer are read."""

    fields_of: FieldsOf
    take: Callable[[Pieces, Any], None]
    answer_of: Callable[[Any], Answer]


class SyncSpeaker:
    """A sync client; `api` is the part of it that is asked."""

    words: Words

    def __init__(self, client: Any, api: Any) -> None:
        self.client, self.api = client, api

    def whole(self, ask: Ask) -> Answer:
        """In one piece; parsed if a schema is asked for."""
        asked = self.api.create if ask.schema is None else self.api.parse
        return self.words.answer_of(asked(**self.words.fields_of(ask)))

    def streamed(self, ask: Ask) -> Answer:
        """Event by event."""
        pieces = Pieces()
        for event in self.api.create(**self.words.fields_of(ask, is_raw=True), stream=True):
            self.words.take(pieces, event)
        return pieces.answer


class AsyncSpeaker:
    """An async client; `api` is the part of it that is asked."""

    words: Words

    def __init__(self, client: Any, api: Any) -> None:
        self.client, self.api = client, api

    async def whole(self, ask: Ask) -> Answer:
        """In one piece; parsed if a schema is asked for."""
        asked = self.api.create if ask.schema is None else self.api.parse
        return self.words.answer_of(await asked(**self.words.fields_of(ask)))

    async def streamed(self, ask: Ask) -> Answer:
        """Event by event."""
        pieces = Pieces()
        fields = self.words.fields_of(ask, is_raw=True)
        async for event in await self.api.create(**fields, stream=True):
            self.words.take(pieces, event)
        return pieces.answer
