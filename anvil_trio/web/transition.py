"""`GET|POST /v1/admin/transition`: from an authenticated request to one order and its answer."""

from http import HTTPMethod

from anvil_trio.config.model import ServerSettings
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.transition.desk import carry_out
from anvil_trio.transition.order import Order, invalid, parse_order, parse_status_query
from anvil_trio.views.shape import Shape
from anvil_trio.web.asgi_types import Headers
from anvil_trio.web.asked import Asked
from anvil_trio.web.management import answer_order, read_order
from anvil_trio.web.respond import AsgiCaller

__all__ = ["answer_transition"]

_NO_BODY = invalid("A GET takes no body.")
_FAILED = problem(Code.TRANSITION_FAILED)


async def answer_transition(house: House, generation: Generation, asked: Asked) -> None:
    """Carry out one transition, or show how things stand."""

    async def work(caller: AsgiCaller) -> Shape | Problem:
        order = await _order(asked, caller, generation.config.server)
        return order if isinstance(order, Problem) else await carry_out(house, generation, order)

    await answer_order(house, asked, work, otherwise=_FAILED)


async def _order(asked: Asked, caller: AsgiCaller, settings: ServerSettings) -> Order | Problem:
    if asked.method != HTTPMethod.POST:  # HEAD asks what GET asks
        return _NO_BODY if _declares_a_body(asked.headers) else parse_status_query(asked.query)
    body = await read_order(caller, settings)
    return body if isinstance(body, Problem) else parse_order(body)


def _declares_a_body(headers: Headers) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b" 0"))
        for name, value in headers
    )
