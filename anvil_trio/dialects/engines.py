"""What a tier's engines speak, for every client dialect that is not theirs."""

from collections.abc import Sequence

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects import anthropic_render, chat_render
from anvil_trio.dialects.anthropic_events import AnthropicEvents, events_of_message
from anvil_trio.dialects.events import StreamEvent
from anvil_trio.dialects.ir import ChatRequest, RenderedRequest
from anvil_trio.dialects.openai_events import OpenAiEvents, events_of_reply
from anvil_trio.dialects.translate import EventDecoder
from anvil_trio.errors import Problem

__all__ = ["events_in", "new_decoder", "render_request"]


def render_request(request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
    """The body of a request in Chat's members, in the words of the tier's engines."""
    if tier.dialect is TierDialect.ANTHROPIC:
        return anthropic_render.render_request(request, tier, is_messages=False)
    return chat_render.render_request(request, tier)


def events_in(tier: Tier, body: bytes) -> Sequence[StreamEvent]:
    """What an engine's whole reply says. Raises UpstreamFailed if it is none."""
    if tier.dialect is TierDialect.ANTHROPIC:
        return events_of_message(body)
    return events_of_reply(body)


def new_decoder(tier: Tier, max_event_bytes: int) -> EventDecoder:
    """A decoder for one reply stream of the tier's engines."""
    if tier.dialect is TierDialect.ANTHROPIC:
        return AnthropicEvents(max_event_bytes)
    return OpenAiEvents(max_event_bytes)
