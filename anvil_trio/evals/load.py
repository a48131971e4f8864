"""So many clients at once, each with one streamed request after the other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import trio

from anvil_trio.conform.asking import Asker
from anvil_trio.conform.reply import Reply
from anvil_trio.conform.voices import CHAT, Ask
from anvil_trio.evals.samples import Round, Sample, make_sample, summarise
from anvil_trio.evals.token_clock import TokenClock

__all__ = ["Load", "render_prompt", "run_load", "try_once"]

_WORDS = (
    *("river", "stone", "apple", "window", "garden", "paper", "silver", "morning"),
    *("bridge", "music", "winter", "letter", "forest", "table", "yellow", "harbour"),
    *("summer", "market", "village", "engine", "candle", "mirror", "island", "station"),
)


@dataclass(frozen=True, slots=True)
class Load:
    """One round: `requests` in all, `concurrency` at a time, of about these many tokens."""

    concurrency: int
    requests: int
    prompt_tokens: int
    output_tokens: int


def render_prompt(label: str, tokens: int) -> str:
    """About so many tokens: common words, behind a label that no other prompt begins with.

    What an engine keeps of one prompt is then of no use for the next.
    """
    words = (_WORDS[at * at % len(_WORDS)] for at in range(max(0, tokens - 8)))
    return " ".join([f"Number {label}. Tell a long story about:", *words])


async def run_load(asker: Asker, load: Load, label: str, step: Callable[[], None]) -> Round:
    """The numbers of one round; `step` is called after each answer. Cancelled, all are left."""
    samples: list[Sample] = []
    numbers = iter(range(load.requests))

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            clock = TokenClock()
            reply = await _ask(asker, load, f"{label}-{number}", clock)
            samples.append(make_sample(reply, clock))
            step()

    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(min(load.concurrency, load.requests)):
            nursery.start_soon(work, numbers)
    return summarise(load.concurrency, samples, trio.current_time() - started)


async def try_once(asker: Asker, load: Load, label: str) -> Reply:
    """One answer that does not count: it warms up whatever is cold."""
    return await _ask(asker, load, label, TokenClock())


async def _ask(asker: Asker, load: Load, label: str, clock: TokenClock) -> Reply:
    ask = Ask(
        render_prompt(label, load.prompt_tokens),
        limit=load.output_tokens,
        is_stream=True,
        wants_counts=True,
        more={"ignore_eos": True},
    )
    call = asker.post(CHAT, CHAT.render(asker.target.model, ask))
    return await asker.ask(call, clock.hear)
