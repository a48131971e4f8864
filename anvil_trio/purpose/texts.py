"""Embeddings and rerank: a body that stays as it is, a reply of which only the model changes."""

from dataclasses import dataclass, field

import msgspec

from anvil_trio.decisions.words import RequestKind
from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.ir import Usage
from anvil_trio.dialects.json_span import with_text
from anvil_trio.dialects.raw_json import ABSENT, is_given
from anvil_trio.dialects.usage import usage_of
from anvil_trio.errors import Problem
from anvil_trio.purpose.asks import Finished, Manner, Outgoing, Told, invalid
from anvil_trio.purpose.json_body import (
    BROKEN,
    is_full_list,
    is_full_text,
    members_of,
    read_model,
    read_text,
)
from anvil_trio.purpose.media_types import JSON

__all__ = ["TextAsk", "parse_embedding", "parse_rerank"]

_JSON = JSON.encode()


class _Reply(msgspec.Struct, gc=False):
    """What both kinds of reply may have; which list is asked for depends on the kind."""

    data: list[msgspec.Raw] | None = None
    results: list[msgspec.Raw] | None = None
    model: str | None = None
    usage: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


_REPLY = msgspec.json.Decoder(_Reply)
_RANKED = msgspec.json.Decoder(
    list[dict[str, msgspec.Raw]]
)  # some engines answer with the bare list


@dataclass(frozen=True, slots=True)
class TextAsk:
    """One request for embeddings or for an order of documents."""

    kind: RequestKind
    name: str
    path: str
    subject: str
    body: bytes = field(repr=False)
    names_route: bool = False

    def outgoing(self, model: str) -> Outgoing:
        """The body as it came, but for the model's name where that is another one."""
        same = model == self.name
        return Outgoing(_JSON, self.body if same else with_text(self.body, "model", text=model))

    def manner(self, media: str) -> Manner | None:
        """Only JSON, and only whole."""
        return Manner.WHOLE if media == JSON else None

    def finish(self, media: str, body: bytes, told: Told) -> Finished | Problem | None:  # noqa: ARG002 - it is JSON
        """The reply as it came, but for a model that its caller did not name (decision 10)."""
        try:
            reply = _REPLY.decode(body)
        except BROKEN:
            return self._finish_list(body)
        if is_given(reply.error):
            return error_problem(body)
        wanted = reply.data if self.kind is RequestKind.EMBEDDING else reply.results
        if wanted is None:
            return None
        is_named = reply.model is None or reply.model == told.name
        shown = body if is_named else with_text(body, "model", text=told.name)
        usage = usage_of(reply.usage) if is_given(reply.usage) else Usage()
        return Finished(_JSON, shown, usage)

    def _finish_list(self, body: bytes) -> Finished | None:
        try:
            _RANKED.decode(body)
        except BROKEN:
            return None
        return Finished(_JSON, body) if self.kind is RequestKind.RERANK else None


def parse_embedding(body: bytes) -> TextAsk | Problem:
    """A request for embeddings: a model and something to embed, in whichever of the API's shapes.

    Texts, tokens and how many of them are the engine's to judge.
    """
    members = members_of(body)
    if isinstance(members, Problem):
        return members
    name = read_model(body, members)
    if isinstance(name, Problem):
        return name
    given = members.get("input", ABSENT)
    if not (is_full_text(given) or is_full_list(given)):
        return invalid("input", "`input` must be a text or a list, and not empty.")
    return TextAsk(RequestKind.EMBEDDING, name, "embeddings", "input", body)


def parse_rerank(body: bytes) -> TextAsk | Problem:
    """A request to rank documents: a model, a query and a list of documents."""
    members = members_of(body)
    if isinstance(members, Problem):
        return members
    name = read_model(body, members)
    query = read_text(members, "query")
    for value in (name, query):
        if isinstance(value, Problem):
            return value
    assert isinstance(name, str)
    if not is_full_list(members.get("documents", ABSENT)):
        return invalid("documents", "`documents` must be a list and not empty.")
    return TextAsk(RequestKind.RERANK, name, "rerank", "documents", body)
