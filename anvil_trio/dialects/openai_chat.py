"""OpenAI Chat Completions, for callers of `POST /v1/chat/completions` on OpenAI-dialect tiers."""

from anvil_trio.config.model import Tier
from anvil_trio.dialects import chat_errors, chat_render, chat_reply, chat_request
from anvil_trio.dialects.chat_stream import ChatStream
from anvil_trio.dialects.ir import ChatRequest, ClientDialect, RenderedReply, RenderedRequest
from anvil_trio.errors import Problem

__all__ = ["CHAT"]


class _Chat:
    """The `ClientDialect` of Chat Completions; it holds no state."""

    name = "chat"

    @staticmethod
    def parse_request(body: bytes) -> ChatRequest | Problem:
        """The checked request, or a 400 that names the field."""
        return chat_request.parse_request(body)

    @staticmethod
    def render_request(request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
        """The body for the tier's engines, or a 400."""
        return chat_render.render_request(request, tier)

    @staticmethod
    def render_reply(body: bytes, request: ChatRequest, tier: Tier) -> RenderedReply:  # noqa: ARG004
        """An engine's whole reply for the caller. Raises UpstreamFailed if it is none."""
        return chat_reply.render_reply(body, request.model)

    @staticmethod
    def translator(request: ChatRequest, tier: Tier, max_event_bytes: int) -> ChatStream:  # noqa: ARG004
        """A translator for this request's one reply stream."""
        return ChatStream(
            request.model,
            usage_wanted=request.usage_wanted,
            max_event_bytes=max_event_bytes,
            choices=request.choices,
        )

    @staticmethod
    def render_problem(what: Problem) -> bytes:
        """OpenAI's error body."""
        return chat_errors.render_problem(what)


CHAT: ClientDialect = _Chat()
