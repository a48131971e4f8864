"""One chat request, from an authenticated call to its terminal record. Read this first.

    permit -> body -> parse, alias, gates -> lease -> one attempt -> closing -> last words -> record

Everything that must be given back is a `with`, entered before the next `await`: the permit, the
lease (in `exchange/selection`) and the upstream stream. All of them are inside the `life` of
`exchange/frame`, which also has the last words said and the record written.
"""

from collections.abc import Coroutine
from typing import Never

from anvil_trio.actors.messages import Refused
from anvil_trio.dialects.ir import StreamTranslator
from anvil_trio.errors import Problem, UpstreamFailed
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller
from anvil_trio.exchange.closing import (
    Closing,
    broken,
    rejected,
    turned_away,
)
from anvil_trio.exchange.delivery import deliver
from anvil_trio.exchange.generation import Generation, Route
from anvil_trio.exchange.house import House
from anvil_trio.exchange.phases import Phase
from anvil_trio.exchange.prepare import Prepared, prepare
from anvil_trio.exchange.relay import UnaryRelay
from anvil_trio.exchange.selection import MemberExchange
from anvil_trio.exchange.stream_relay import StreamRelay
from anvil_trio.names import MemberId
from anvil_trio.upstream.client import Opening, Upstream, open_stream
from anvil_trio.upstream.stream import UpstreamStream

__all__ = ["run_chat"]


def run_chat(
    house: House, generation: Generation, call: Call, caller: Caller
) -> Coroutine[object, Never, None]:
    """Serve one chat request: at most one attempt, one record, and an answer unless they left.

    To be awaited at once. Raises nothing but `trio.Cancelled`: a bug here ends this exchange with a
    500, not the process.
    """
    return _Exchange(house, generation, call, caller).run()


class _Exchange(MemberExchange[Caller]):
    """A chat request between its call and its closing."""

    def __init__(self, house: House, generation: Generation, call: Call, caller: Caller) -> None:
        super().__init__(house, generation, call, caller, is_asked=caller.has_body)
        self._prepared: Prepared | None = None  # until nobody needs it: it is as long as a prompt
        self._is_stream = False
        self._translator: StreamTranslator | None = None

    async def _admit(self) -> Closing:
        """The front door and the body. Gates reserve nothing of a tier."""
        permit = await self._house.admission.enter(self._call.client_id)
        if isinstance(permit, Refused):
            return turned_away(permit)
        with permit:
            self._watch.journey.reach(Phase.INSIDE)
            body = await self._caller.read_body(
                self._server.max_body_bytes,
                stall_s=self._server.client_stall_timeout_s,
                total_s=self._server.total_timeout_s,
            )
            if isinstance(body, Problem):
                return rejected(body)
            prepared = prepare(body, self._call.dialect, self._generation, self._record)
            if isinstance(prepared, Problem):
                return rejected(prepared)
            if isinstance(prepared, Refused):
                return self._not_admitted(prepared)
            self._is_stream = prepared.request.stream
            self._headers = self._call.reply_headers(
                prepared.rendered.output_limit, is_stream=self._is_stream
            )
            self._prepared, route = prepared, prepared.route
            del body, prepared
            return await self._select(route)

    @property
    def _asked(self) -> Prepared:
        assert self._prepared is not None, "asked of a stream that is relayed"
        return self._prepared

    async def _attempt(self, route: Route, member_id: MemberId) -> Closing:
        upstream = route.upstreams[member_id]
        record = self._record
        record.attempted_at = record.answered_at
        try:
            async with self._opening(upstream) as stream:
                self._watch.journey.reach(Phase.DISPATCHED)
                self._watch.dispatched(has_heartbeats=self._is_stream)
                if self._is_stream:
                    return await self._relay_stream(stream)
                return await self._relay_unary(stream)
        except UpstreamFailed as failure:
            return broken(failure.problem)
        finally:
            record.upstream_ended_at = self._watch.now()

    def _opening(self, upstream: Upstream) -> Opening:
        asked = self._asked
        request = upstream.chat_request(
            asked.route.tier.dialect,
            self._call.gateway_request_id,
            accept_stream=self._is_stream,
            said=self._call.said_headers,
        )
        body, on_wait = asked.rendered.body, self._watch.chosen
        return open_stream(upstream, body, request, on_wait)

    async def _relay_stream(self, stream: UpstreamStream) -> Closing:
        limit = self._server.max_event_bytes
        translator = self._new_translator(limit)
        self._record.progress = translator
        relay = StreamRelay(
            stream,
            self._watch,
            self._record,
            limit,
            translator=translator,
            caller=self._caller,
            headers=self._headers,
        )
        try:
            return await relay.run()
        finally:
            self._record.usage = translator.usage
            self._record.completion_tokens_estimate = translator.completion_estimate
            self._record.finish_reason = translator.finish_reason
            self._record.is_finish_reason_missing = translator.is_finish_reason_missing

    def _new_translator(self, limit: int) -> StreamTranslator:
        """For the reply; from here on the request is not kept, however long that may last."""
        asked, self._prepared = self._asked, None
        translator = self._call.dialect.translator(asked.request, asked.route.tier, limit)
        self._translator = translator
        return translator

    async def _relay_unary(self, stream: UpstreamStream) -> Closing:
        prepared = self._asked
        relay = UnaryRelay(stream, self._watch, self._record, self._server.max_event_bytes)
        closing = await relay.run()
        if closing.problem is not None:
            return closing
        dialect, tier = self._call.dialect, prepared.route.tier
        reply = dialect.render_reply(closing.tail, prepared.request, tier)
        self._record.usage, self._record.finish_reason = reply.usage, reply.finish_reason
        self._record.completion_tokens_estimate = reply.completion_estimate
        self._headers.append((b"content-length", b"%d" % len(reply.body)))
        return Closing(closing.outcome, tail=reply.body)

    async def _deliver(self, closing: Closing) -> bool:
        return await deliver(
            closing,
            self._call,
            self._caller,
            self._headers,
            stall_s=self._watch.limits.stall_s,
            translator=self._translator,
        )
