"""The routes beside chat: from an authenticated ASGI request to one exchange with a service."""

from functools import partial

from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.purpose.media_types import declared_type
from anvil_trio.purpose.reading import KINDS, reading_of
from anvil_trio.purpose.run import run_service
from anvil_trio.purpose.sizes import sizes_of
from anvil_trio.web.asked import Asked
from anvil_trio.web.auth import Principal
from anvil_trio.web.chat import call_of
from anvil_trio.web.respond import AsgiCaller
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
    asked: Asked,
) -> None:
    """Run one exchange; under a server that does not tell of leaving, a watcher stands in."""
    reading = reading_of(route, declared_type(asked.headers), sizes_of(generation.config))
    call = call_of(principal, CHAT, asked.first)
    caller = AsgiCaller(asked)
    work = partial(run_service, house, generation, call, caller, reading)
    if asked.server is None:
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await work()
