"""One realtime session's words, without a socket: events in, events out, the same each time."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import msgspec

from anvil_trio.demo.text import compose, count_tokens

__all__ = ["Conversation", "Spoken"]

Event: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One event to send. `is_token` says that it takes a slot as long as a token does."""

    text: str
    is_token: bool = False


class _Content(msgspec.Struct):
    text: str = ""


class _Item(msgspec.Struct):
    content: list[_Content] = []


class _Said(msgspec.Struct):
    type: str
    session: dict[str, object] = {}
    item: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(slots=True)
class Conversation:
    """What the engine, serving `model`, says in one session.

    It knows `session.update`, `conversation.item.create` and `response.create`; whatever else comes
    is answered by an `error` event.
    """

    model: str
    _session: Event = field(default_factory=dict)
    _prompt: str = ""
    _count: int = 0

    def begin(self) -> Iterator[Spoken]:
        """What is said before anything was heard."""
        self._session = {
            "type": "realtime",
            "object": "realtime.session",
            "id": "sess_demo",
            "model": self.model,
            "output_modalities": ["text"],
        }
        yield self._event("session.created", session=self._session)

    def hear(self, text: str) -> Iterator[Spoken]:
        """What is said to one event."""
        try:
            said = msgspec.json.decode(text, type=_Said)
            item = msgspec.json.decode(said.item, type=_Item)
        except (msgspec.DecodeError, RecursionError):
            return iter((self._error("invalid_event"),))
        match said.type:
            case "session.update":
                return self._update(said.session)
            case "conversation.item.create":
                return self._take(item, said.item)
            case "response.create":
                return self._respond()
            case _:
                return iter((self._error("unknown_event"),))

    def _update(self, session: Event) -> Iterator[Spoken]:
        if session.get("model", self.model) != self.model:
            yield self._error("model_not_found")
            return
        self._session |= session
        yield self._event("session.updated", session=self._session)

    def _take(self, item: _Item, raw: msgspec.Raw) -> Iterator[Spoken]:
        self._prompt = " ".join(part.text for part in item.content)
        yield self._event("conversation.item.added", item=raw)
        yield self._event("conversation.item.done", item=raw)

    def _respond(self) -> Iterator[Spoken]:
        self._count += 1
        pieces, number = compose(self._prompt), self._count
        at: Event = {
            "response_id": f"resp_{number}",
            "item_id": f"item_{number}",
            "output_index": 0,
            "content_index": 0,
        }
        yield self._event("response.created", response=self._response(number, "in_progress"))
        for piece in pieces:
            delta = self._event("response.output_text.delta", **at, delta=piece)
            yield replace(delta, is_token=True)
        text = "".join(pieces)
        yield self._event("response.output_text.done", **at, text=text)
        done = self._response(number, "completed", text)
        used = count_tokens(self._prompt)
        done["usage"] = {
            "input_tokens": used,
            "output_tokens": len(pieces),
            "total_tokens": used + len(pieces),
        }
        yield self._event("response.done", response=done)

    def _response(self, number: int, status: str, text: str | None = None) -> Event:
        item: Event = {
            "id": f"item_{number}",
            "object": "realtime.item",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [{"type": "output_text", "text": text}],
        }
        return {
            "id": f"resp_{number}",
            "object": "realtime.response",
            "status": status,
            "model": self.model,
            "output": [] if text is None else [item],
        }

    def _error(self, code: str) -> Spoken:
        error: Event = {
            "type": "invalid_request_error",
            "code": code,
            "message": "The event cannot be answered.",
            "param": None,
        }
        return self._event("error", error=error)

    def _event(self, kind: str, **fields: object) -> Spoken:
        event = {"type": kind, "event_id": f"event_{kind}", **fields}
        return Spoken(msgspec.json.encode(event).decode())
