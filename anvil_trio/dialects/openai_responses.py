"""The OpenAI Responses API without a memory, for callers of `POST /v1/responses`."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from uuid import uuid4

from anvil_trio.config.model import Tier
from anvil_trio.dialects import chat_errors, engines, responses_request
from anvil_trio.dialects.engines import events_in, new_decoder
from anvil_trio.dialects.events import (
    Finished,
    StreamEvent,
    UsageReported,
)
from anvil_trio.dialects.ir import (
    ChatRequest,
    ClientDialect,
    FinishReason,
    RenderedReply,
    StreamTranslator,
    Usage,
)
from anvil_trio.dialects.raw_json import encode, members_of
from anvil_trio.dialects.responses_object import ResponseObject
from anvil_trio.dialects.responses_stream import ResponsesEncoder
from anvil_trio.dialects.translate import TranslatedStream
from anvil_trio.errors import Problem

__all__ = ["RESPONSES", "Responses", "render_input_tokens"]

_PARAMS: Mapping[str, str] = MappingProxyType({
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
})
"""What Chat's fields are called here, for refusals that are found on the way."""


class Responses:
    """The `ClientDialect` of the Responses API.

    `now` is the wall clock, for `created_at`; `new_token` makes what the ids of one response have
    in common, never the same twice.
    """

    name = "responses"
    parse_request = staticmethod(responses_request.parse_request)
    render_request = staticmethod(engines.render_request)

    def __init__(self, *, now: Callable[[], float], new_token: Callable[[], str]) -> None:
        self._now, self._new_token = now, new_token

    def render_reply(self, body: bytes, request: ChatRequest, tier: Tier) -> RenderedReply:
        """An engine's whole reply as a response object. Raises UpstreamFailed if it is none."""
        events = events_in(tier, body)
        encoder = self._encoder(request, len(body))
        for event in events:
            encoder.encode(event)
        return RenderedReply(
            body=encoder.whole().body,
            finish_reason=_finish_reason_in(events),
            usage=_usage_in(events),
            completion_estimate=encoder.completion_estimate,
        )

    def translator(
        self,
        request: ChatRequest,
        tier: Tier,
        max_event_bytes: int,
    ) -> StreamTranslator:
        """A translator for this request's one reply stream."""
        return TranslatedStream(
            new_decoder(tier, max_event_bytes), self._encoder(request, max_event_bytes)
        )

    @staticmethod
    def render_problem(what: Problem) -> bytes:
        """OpenAI's error body, in the words of this API's fields."""
        return chat_errors.render_problem(_renamed(what))

    def _encoder(self, request: ChatRequest, max_bytes: int) -> ResponsesEncoder:
        assert request.source is not None, "every request that was parsed here has its source"
        sent = members_of(request.source)
        token = self._new_token()
        response = ResponseObject(f"resp_{token}", int(self._now()), request.model, sent)
        return ResponsesEncoder(
            response,
            token=token,
            now=self._now,
            wants_summary=responses_request.wants_summary(sent),
            prompt_estimate=request.prompt_tokens,
            max_bytes=max_bytes,
        )


def render_input_tokens(tokens: int) -> bytes:
    """The body of a count."""
    return encode({"object": "response.input_tokens", "input_tokens": tokens})


def _renamed(what: Problem) -> Problem:
    return what if what.param is None else replace(what, param=_PARAMS.get(what.param, what.param))


def _finish_reason_in(events: Sequence[StreamEvent]) -> FinishReason | None:
    return next((event.reason for event in events if isinstance(event, Finished)), None)


def _usage_in(events: Sequence[StreamEvent]) -> Usage:
    found = [event.usage for event in events if isinstance(event, UsageReported)]
    return found[-1] if found else Usage()


RESPONSES: ClientDialect = Responses(now=time.time, new_token=lambda: uuid4().hex)  # noqa: TID251
