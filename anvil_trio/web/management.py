"""An operator's order over HTTP: one of few places, a small body, an answer; never a chat place."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import trio

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.config.model import ServerSettings
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.house import House
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.views.shape import Shape
from anvil_trio.web.asked import Asked
from anvil_trio.web.respond import AsgiCaller, send_json, send_problem
from anvil_trio.web.watcher import run_watched

__all__ = ["CarryOut", "answer_order", "read_order"]

CarryOut: TypeAlias = Callable[[AsgiCaller], Awaitable[Shape | Problem]]

_MAX_BODY_BYTES = 16_384


async def answer_order(
    house: House, asked: Asked, carry_out: CarryOut, *, otherwise: Problem
) -> None:
    """Carry out one order; a caller that leaves withdraws what is still waited for.

    `otherwise` is told where no place is to be had for another reason than that all are taken.
    """
    caller = AsgiCaller(asked)
    waiting = trio.CancelScope()
    caller.watch_for_leaving(waiting.cancel)

    async def work() -> None:
        with waiting:
            answer = await _answer(house, caller, carry_out, otherwise)
        if waiting.cancelled_caught:
            return  # nobody listens any more
        if isinstance(answer, Problem):
            await send_problem(asked.send, answer, CHAT.render_problem(answer))
        else:
            await send_json(asked.send, answer)

    if asked.server is None:
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await work()


async def read_order(caller: AsgiCaller, settings: ServerSettings) -> bytes | Problem:
    """The body of an order, bounded in size and in time."""
    return await caller.read_body(
        _MAX_BODY_BYTES,
        stall_s=settings.client_stall_timeout_s,
        total_s=settings.client_stall_timeout_s,
    )


async def _answer(
    house: House, caller: AsgiCaller, carry_out: CarryOut, otherwise: Problem
) -> Shape | Problem:
    got = await house.management.places.enter(LEGACY_CLIENT)
    if isinstance(got, Refused):
        is_busy = got.reason is RefusalReason.SERVER_BUSY
        return problem(Code.SERVER_BUSY) if is_busy else otherwise
    with got:
        return await carry_out(caller)
