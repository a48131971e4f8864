"""The routes beside chat: from an authenticated ASGI request to one exchange with a service."""

from functools import partial

from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.purpose.media_types import declared_type
from anvil_trio.purpose.reading import KINDS, reading_of
from anvil_trio.purpose.run import run_service
from anvil_trio.purpose.sizes import sizes_of
from anvil_trio.web.asgi_types import Receive, Scope, Send, declared_length, headers_of
from anvil_trio.web.auth import Principal
from anvil_trio.web.chat import call_of
from anvil_trio.web.respond import AsgiCaller, server_side
from anvil_trio.web.watcher import run_watched

__all__ = ["answer_service", "serves"]


def serves(generation: Generation, route: str) -> bool:
    """Whether anything is configured that the route of that name could lead to."""
    return bool(generation.services.names(KINDS[route]))


async def answer_service(
    house: House,
    generation: Generation,
    principal: Principal,
    route: str,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Run one exchange; under a server that does not tell of leaving, a watcher stands in."""
    headers = headers_of(scope)
    reading = reading_of(route, declared_type(headers), sizes_of(generation.config))
    call = call_of(principal, CHAT, headers)
    server = server_side(scope)
    caller = AsgiCaller(receive, send, server, declared_length(headers))
    work = partial(run_service, house, generation, call, caller, reading)
    if server is None:
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await work()
