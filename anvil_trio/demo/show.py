"""The show: five requests, one after the other, and who answered them."""

from dataclasses import dataclass
from typing import Protocol

import trio

from anvil_trio.demo.client import RouterClient
from anvil_trio.demo.decisions import find_member

__all__ = ["Audience", "Turn", "play"]

_PROMPTS = (
    "Who keeps the light burning?",
    "What does the night train carry?",
    "Who mends the clocks in this town?",
    "What is the river bridge good for?",
)
_STREAMED_PROMPT = "Tell me a story while I listen."


@dataclass(slots=True)
class Turn:
    """One request of the show, as far as it has come.

    `member` is the engine that took it, as the router's decision log says; None before that is
    known and for a tier of one unnamed engine. `problem` is the code of a failure.
    """

    number: int
    prompt: str
    is_stream: bool
    text: str = ""
    member: str | None = None
    elapsed_s: float = 0.0
    is_over: bool = False
    problem: str | None = None


class Audience(Protocol):
    """Who watches. Calls come in the order in which things happen and must not block for long."""

    def asked(self, turn: Turn) -> None:
        """A request is about to be sent."""
        ...

    def heard(self, turn: Turn, piece: str) -> None:
        """A piece of a streamed reply has come; `turn.text` already holds it."""
        ...

    def answered(self, turn: Turn) -> None:
        """A request has ended, well or not."""
        ...


async def play(client: RouterClient, log_path: trio.Path, audience: Audience) -> tuple[Turn, ...]:
    """Four plain requests and a streamed one, in order; what became of each."""
    prompts = [(prompt, False) for prompt in _PROMPTS]
    turns = [
        Turn(number, prompt, is_stream)
        for number, (prompt, is_stream) in enumerate([*prompts, (_STREAMED_PROMPT, True)], start=1)
    ]
    for turn in turns:
        await _take(turn, client, log_path, audience)
    return tuple(turns)


async def _take(turn: Turn, client: RouterClient, log_path: trio.Path, audience: Audience) -> None:
    def hear(piece: str) -> None:
        turn.text += piece
        audience.heard(turn, piece)

    audience.asked(turn)
    asked_at = trio.current_time()
    answer = await client.ask(turn.prompt, hear if turn.is_stream else None)
    turn.elapsed_s = trio.current_time() - asked_at
    turn.text, turn.problem = answer.text, answer.problem
    if answer.request_id is not None:
        turn.member = await find_member(log_path, answer.request_id)
    turn.is_over = True
    audience.answered(turn)
