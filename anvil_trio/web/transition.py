"""`GET|POST /v1/admin/transition`: from an authenticated request to one order and its answer."""

from http import HTTPMethod

from anvil_trio.config.model import ServerSettings
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.transition.desk import carry_out
from anvil_trio.transition.order import Order, invalid, parse_order, parse_status_query
from anvil_trio.views.shape import Shape
from anvil_trio.web.asgi_types import Receive, Scope, Send, headers_of
from anvil_trio.web.management import answer_order, read_order
from anvil_trio.web.respond import AsgiCaller

__all__ = ["answer_transition"]

_NO_BODY = invalid("A GET takes no body.")
_FAILED = problem(Code.TRANSITION_FAILED)


async def answer_transition(
    house: House, generation: Generation, scope: Scope, receive: Receive, send: Send
) -> None:
    """Carry out one transition, or show how things stand."""

    async def work(caller: AsgiCaller) -> Shape | Problem:
        order = await _order(scope, caller, generation.config.server)
        return order if isinstance(order, Problem) else await carry_out(house, generation, order)

    await answer_order(house, scope, receive, send, work, otherwise=_FAILED)


async def _order(scope: Scope, caller: AsgiCaller, settings: ServerSettings) -> Order | Problem:
    if scope["method"] != HTTPMethod.POST:  # HEAD asks what GET asks
        query = scope.get("query_string", b"")
        assert isinstance(query, bytes)
        return _NO_BODY if _declares_a_body(scope) else parse_status_query(query)
    body = await read_order(caller, settings)
    return body if isinstance(body, Problem) else parse_order(body)


def _declares_a_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b" 0"))
        for name, value in headers_of(scope)
    )
