"""OpenAI Chat Completions, for callers of `POST /v1/chat/completions` on any tier."""

import time
from collections.abc import Callable

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects import chat_errors, chat_reply, chat_request
from anvil_trio.dialects.chat_encoder import ChatEncoder, render_whole
from anvil_trio.dialects.chat_stream import ChatStream
from anvil_trio.dialects.engines import events_in, new_decoder, render_for
from anvil_trio.dialects.ir import (
    ChatRequest,
    ClientDialect,
    RenderedReply,
    RenderedRequest,
    StreamTranslator,
)
from anvil_trio.dialects.translate import TranslatedStream
from anvil_trio.errors import Problem

__all__ = ["CHAT", "Chat"]


class Chat:
    """The `ClientDialect` of Chat Completions. `now` is the wall clock, for `created`."""

    name = "chat"

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now

    @staticmethod
    def parse_request(body: bytes) -> ChatRequest | Problem:
        """The checked request, or a 400 that names the field."""
        return chat_request.parse_request(body)

    @staticmethod
    def render_request(request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
        """The body for the tier's engines, or a 400."""
        return render_for(tier, request)

    def render_reply(self, body: bytes, request: ChatRequest, tier: Tier) -> RenderedReply:
        """An engine's whole reply for the caller. Raises UpstreamFailed if it is none."""
        if tier.dialect is TierDialect.OPENAI:
            return chat_reply.render_reply(body, request.model)
        return render_whole(events_in(tier, body), request.model, created=int(self._now()))

    def translator(
        self, request: ChatRequest, tier: Tier, max_event_bytes: int
    ) -> StreamTranslator:
        """A translator for this request's one reply stream."""
        if tier.dialect is TierDialect.OPENAI:
            return ChatStream(
                request.model,
                usage_wanted=request.usage_wanted,
                max_event_bytes=max_event_bytes,
                choices=request.choices,
            )
        encoder = ChatEncoder(
            request.model, created=int(self._now()), usage_wanted=request.usage_wanted
        )
        return TranslatedStream(new_decoder(tier, max_event_bytes), encoder)

    @staticmethod
    def render_problem(what: Problem) -> bytes:
        """OpenAI's error body."""
        return chat_errors.render_problem(what)


CHAT: ClientDialect = Chat(now=time.time)  # noqa: TID251
