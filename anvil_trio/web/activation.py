"""`POST /v1/admin/activate`: the router's own file, if it has that digest, takes over."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import trio

from anvil_trio.activation.order import ActivationOrder, parse_activation
from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.house import House
from anvil_trio.views.activation import project_activation
from anvil_trio.views.shape import Shape
from anvil_trio.web.asked import Asked
from anvil_trio.web.management import answer_order, read_order
from anvil_trio.web.respond import AsgiCaller

__all__ = ["Activate", "Activated", "answer_activation", "no_activation"]


@dataclass(frozen=True, slots=True)
class Activated:
    """One configuration took over from another, or, on a dry run, could."""

    old: RouterConfig
    new: RouterConfig
    is_applied: bool


Activate: TypeAlias = Callable[[ActivationOrder], Awaitable[Activated | Problem]]

_FAILED = problem(Code.ACTIVATION_FAILED)


async def no_activation(_order: ActivationOrder) -> Problem:
    """What a router says whose configuration came from no file."""
    await trio.lowlevel.checkpoint()
    return problem(Code.ACTIVATION_REQUIRES_RESTART)


async def answer_activation(
    house: House, settings: ServerSettings, activate: Activate, asked: Asked
) -> None:
    """Carry out one activation; a caller that leaves before it took over has changed nothing."""

    async def work(caller: AsgiCaller) -> Shape | Problem:
        body = await read_order(caller, settings)
        order = body if isinstance(body, Problem) else parse_activation(body)
        found = order if isinstance(order, Problem) else await activate(order)
        if isinstance(found, Problem):
            return found
        return project_activation(found.old, found.new, is_applied=found.is_applied)

    await answer_order(house, asked, work, otherwise=_FAILED)
