"""`GET|POST /v1/admin/transition`: from an authenticated request to one order and its answer."""

from http import HTTPMethod

import trio

from anvil_trio.actors.messages import Refused
from anvil_trio.config.model import ServerSettings
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.transition.desk import carry_out, refused
from anvil_trio.transition.order import Order, invalid, parse_order, parse_status_query
from anvil_trio.views.shape import Shape
from anvil_trio.web.asgi_types import Receive, Scope, Send, declared_length, headers_of
from anvil_trio.web.respond import AsgiCaller, send_json, send_problem, server_side
from anvil_trio.web.watcher import run_watched

__all__ = ["answer_transition"]

_MAX_BODY_BYTES = 16_384
_NO_BODY = invalid("A GET takes no body.")


async def answer_transition(
    house: House, generation: Generation, scope: Scope, receive: Receive, send: Send
) -> None:
    """Carry out one order; a caller that leaves withdraws what is still waited for."""
    server = server_side(scope)
    caller = AsgiCaller(receive, send, server, declared_length(headers_of(scope)))
    waiting = trio.CancelScope()
    caller.watch_for_leaving(waiting.cancel)

    async def work() -> None:
        with waiting:
            answer = await _answer(house, generation, scope, caller)
        if waiting.cancelled_caught:
            return  # nobody listens any more
        if isinstance(answer, Problem):
            await send_problem(send, answer, CHAT.render_problem(answer))
        else:
            await send_json(send, answer)

    if server is None:
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await work()


async def _answer(
    house: House, generation: Generation, scope: Scope, caller: AsgiCaller
) -> Shape | Problem:
    got = await house.management.places.enter(LEGACY_CLIENT)
    if isinstance(got, Refused):
        return refused(got)
    with got:
        order = await _order(scope, caller, generation.config.server)
        return order if isinstance(order, Problem) else await carry_out(house, generation, order)


async def _order(scope: Scope, caller: AsgiCaller, settings: ServerSettings) -> Order | Problem:
    if scope["method"] != HTTPMethod.POST:  # HEAD asks what GET asks
        query = scope.get("query_string", b"")
        assert isinstance(query, bytes)
        return _NO_BODY if _declares_a_body(scope) else parse_status_query(query)
    body = await caller.read_body(
        _MAX_BODY_BYTES,
        stall_s=settings.client_stall_timeout_s,
        total_s=settings.client_stall_timeout_s,
    )
    return body if isinstance(body, Problem) else parse_order(body)


def _declares_a_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b" 0"))
        for name, value in headers_of(scope)
    )
