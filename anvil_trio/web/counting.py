"""The routes that count tokens: read a body, ask an engine or estimate, answer. No chat place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import uuid4

import trio

from anvil_trio.config.model import Tier
from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, ClientDialect
from anvil_trio.dialects.messages_count import parse_count, render_count, render_question
from anvil_trio.dialects.openai_responses import RESPONSES, render_input_tokens
from anvil_trio.dialects.tokens import estimate_request
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.counting import count_exactly
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.web.asgi_types import Headers
from anvil_trio.web.asked import Asked
from anvil_trio.web.respond import AsgiCaller, send_body, send_problem

__all__ = ["COUNTERS", "Counter", "answer_count"]

_HOW = b"x-anvil-token-count"


@dataclass(frozen=True, slots=True)
class Counter:
    """How one dialect asks for a count.

    `question` is the body for an engine that counts Messages requests; None if the dialect has no
    words for that, so that it is always answered with an estimate.
    """

    dialect: ClientDialect
    parse: Callable[[bytes], ChatRequest | Problem]
    render: Callable[[int], bytes]
    question: Callable[[ChatRequest, Tier], bytes] | None = None


COUNTERS: Mapping[str, Counter] = MappingProxyType({
    "count_tokens": Counter(MESSAGES, parse_count, render_count, render_question),
    "input_tokens": Counter(RESPONSES, RESPONSES.parse_request, render_input_tokens),
})
"""By the name of the route."""


async def answer_count(
    house: House, generation: Generation, counter: Counter, asked: Asked
) -> None:
    """Answer with a count, or with a problem in the caller's dialect."""
    caller = AsgiCaller(asked)
    with trio.CancelScope() as life:
        caller.watch_for_leaving(life.cancel)
        answer = await _count(house, generation, counter, caller)
        if isinstance(answer, Problem):
            return await send_problem(asked.send, answer, counter.dialect.render_problem(answer))
        tokens, how = answer
        headers: Headers = [(_HOW, how)]
        return await send_body(asked.send, counter.render(tokens), extra=headers)
    return None


async def _count(
    house: House, generation: Generation, counter: Counter, caller: AsgiCaller
) -> tuple[int, bytes] | Problem:
    server = generation.config.server
    body = await caller.read_body(
        server.max_body_bytes, stall_s=server.client_stall_timeout_s, total_s=server.total_timeout_s
    )
    request = body if isinstance(body, Problem) else counter.parse(body)
    if isinstance(request, Problem):
        return request
    route = generation.resolve(request.model)
    if route is None:
        return problem(Code.MODEL_NOT_FOUND, param="model")
    if counter.question is not None:
        question = counter.question(request, route.tier)
        exact = await count_exactly(house, route, question, f"req_{uuid4().hex}")
        if exact is not None:
            return exact, b"exact"
    return estimate_request(request), b"estimate"
