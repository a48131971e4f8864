"""OpenAI Chat Completions, for callers of `POST /v1/chat/completions` on any tier."""

import time
from collections.abc import Callable

from anvil_trio.config.model import Tier, TierDialect
from anvil_trio.dialects import chat_errors, chat_reply, chat_request, engines
from anvil_trio.dialects.chat_encoder import ChatEncoder, render_whole
from anvil_trio.dialects.chat_stream import ChatStream
from anvil_trio.dialects.engines import events_in, new_decoder
from anvil_trio.dialects.ir import (
    ChatRequest,
    ClientDialect,
    RenderedReply,
    StreamTranslator,
)
from anvil_trio.dialects.translate import TranslatedStream

__all__ = ["CHAT", "Chat"]


class Chat:
    """The `ClientDialect` of Chat Completions. `now` is the wall clock, for `created`."""

    name = "chat"
    parse_request = staticmethod(chat_request.parse_request)
    render_request = staticmethod(engines.render_request)
    render_problem = staticmethod(chat_errors.render_problem)

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now

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


CHAT: ClientDialect = Chat(now=time.time)  # noqa: TID251
