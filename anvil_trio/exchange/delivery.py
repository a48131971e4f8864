"""Telling the caller how an exchange ended, after everything that was held has been given back."""

import trio

from anvil_trio.dialects.ir import StreamTranslator
from anvil_trio.errors import Problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller, Header
from anvil_trio.exchange.closing import Closing
from anvil_trio.exchange.outcome import Outcome

__all__ = ["deliver", "problem_headers"]

LAST_WORDS_S = 1.0
"""How long a caller that is being told of a failure is waited for."""


def problem_headers(what: Problem, body: bytes) -> list[Header]:
    """The headers of an HTTP error: what to do next, and nothing about us."""
    headers: list[Header] = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(body)),
    ]
    if what.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % what.retry_after_s))
    return headers


async def deliver(
    closing: Closing,
    call: Call,
    caller: Caller,
    headers: list[Header],
    *,
    stall_s: float,
    translator: StreamTranslator | None,
) -> bool:
    """Say the last words; False if the caller did not take them in time.

    `headers` are those of a successful reply that has not begun yet. One that has begun is a
    stream, and ends in that stream's own words.
    """
    patience = stall_s if closing.outcome is Outcome.SERVED else LAST_WORDS_S
    with trio.move_on_after(patience):
        if closing.problem is None:
            if not caller.has_started:
                await caller.start(200, headers)
            await caller.end(closing.tail)
        elif caller.has_started:
            assert translator is not None, "only a stream begins before it is whole"
            await caller.end(translator.terminal_error(closing.problem))
        else:
            body = call.dialect.render_problem(closing.problem)
            head = [*problem_headers(closing.problem, body), *call.id_headers()]
            await caller.start(closing.problem.status, head)
            await caller.end(body)
        return True
    return False
