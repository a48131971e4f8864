"""Telling the caller how an exchange ended, after everything that was held has been given back."""

import trio

from anvil_trio.dialects.ir import StreamTranslator
from anvil_trio.errors import Problem
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller, Header
from anvil_trio.exchange.closing import Closing
from anvil_trio.exchange.outcome import Outcome

__all__ = ["deliver", "problem_headers"]

_OK = 200  # an enum's member takes a call to get

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
    stream, and ends in that stream's own words. Only a caller who has to be waited for needs a
    bound: most have taken what they are told in the step in which it is said.
    """
    whole = None if caller.has_started else _whole(closing, call, headers)
    rest = _rest(closing, translator) if whole is None else b""
    is_said = caller.say_last(rest) if whole is None else caller.say(*whole)
    if is_said and caller.is_drained:
        return True
    patience = stall_s if closing.outcome is Outcome.SERVED else LAST_WORDS_S
    with trio.move_on_after(patience):
        if is_said:
            await caller.drained()
        elif whole is None:
            await caller.end(rest)
        else:
            status, head, body = whole
            await caller.start(status, head)
            await caller.end(body)
        return True
    return False


def _whole(closing: Closing, call: Call, headers: list[Header]) -> tuple[int, list[Header], bytes]:
    """A reply of which nothing has been said."""
    what = closing.problem
    if what is None:
        return _OK, headers, closing.tail
    body = call.dialect.render_problem(what)
    return what.status, [*problem_headers(what, body), *call.id_headers()], body


def _rest(closing: Closing, translator: StreamTranslator | None) -> bytes:
    """What ends a stream that has begun."""
    if closing.problem is None:
        return closing.tail
    assert translator is not None, "only a stream begins before it is whole"
    return translator.terminal_error(closing.problem)
