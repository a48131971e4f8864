"""Anthropic Messages, for callers of `POST /v1/messages` on tiers of either dialect."""

import msgspec

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects import (
    anthropic_render,
    chat_render,
    messages_errors,
    messages_reply,
    messages_request,
)
from anvil_trio.dialects.anthropic_events import AnthropicEvents
from anvil_trio.dialects.anthropic_relay import MessagesRelay, relay_reply
from anvil_trio.dialects.ir import (
    ChatRequest,
    ClientDialect,
    RenderedReply,
    RenderedRequest,
    StreamTranslator,
)
from anvil_trio.dialects.messages_stream import MessagesStream
from anvil_trio.dialects.openai_events import OpenAiEvents, events_of_reply
from anvil_trio.dialects.translate import TranslatedStream
from anvil_trio.errors import Problem

__all__ = ["MESSAGES"]

_STOPS = msgspec.json.Decoder(frozenset[str])
_NO_STOPS = msgspec.Raw(b"[]")


class _Messages:
    """The `ClientDialect` of Messages; it holds no state."""

    name = "messages"

    @staticmethod
    def parse_request(body: bytes) -> ChatRequest | Problem:
        """The checked request, or a 400 that names the field."""
        return messages_request.parse_request(body)

    @staticmethod
    def render_request(request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
        """The body for the tier's engines, or a 400.

        A billing header is dropped when a request is read, since nearly every tier wants it so;
        for one that does not the request is read again.
        """
        if tier.dialect is TierDialect.ANTHROPIC:
            return anthropic_render.render_request(request, tier, is_messages=True)
        if not tier.compat.drop_billing_header and request.source is not None:
            again = messages_request.parse_request(request.source, keeps_billing_header=True)
            assert isinstance(again, ChatRequest), "it was read before"
            request = again
        return chat_render.render_request(request, tier)

    @staticmethod
    def render_reply(body: bytes, request: ChatRequest, tier: Tier) -> RenderedReply:
        """An engine's whole reply for the caller. Raises UpstreamFailed if it is none."""
        if tier.dialect is TierDialect.ANTHROPIC:
            return relay_reply(body, _encoder(request, len(body)).opening(), request.model)
        return messages_reply.render_reply(
            events_of_reply(body),
            request.model,
            prompt_tokens=request.prompt_tokens,
            stop_sequences=_stops(request),
        )

    @staticmethod
    def translator(request: ChatRequest, tier: Tier, max_event_bytes: int) -> StreamTranslator:
        """A translator for this request's one reply stream."""
        encoder = _encoder(request, max_event_bytes)
        if tier.dialect is TierDialect.ANTHROPIC:
            decoder = AnthropicEvents(max_event_bytes)
            return MessagesRelay(decoder, encoder, request.model, max_event_bytes)
        return TranslatedStream(OpenAiEvents(max_event_bytes), encoder)

    @staticmethod
    def render_problem(what: Problem) -> bytes:
        """Anthropic's error body."""
        return messages_errors.render_problem(what)


def _encoder(request: ChatRequest, max_waiting_bytes: int) -> MessagesStream:
    return MessagesStream(
        request.model,
        prompt_tokens=request.prompt_tokens,
        stop_sequences=_stops(request),
        max_waiting_bytes=max_waiting_bytes,
    )


def _stops(request: ChatRequest) -> frozenset[str]:
    return _STOPS.decode(request.fields.get("stop", _NO_STOPS))


MESSAGES: ClientDialect = _Messages()
"""The one instance."""
