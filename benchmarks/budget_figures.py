"""What the budgets are about: ratios, in groups that are measured together, round by round."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from statistics import median

import trio

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.dialects.openai_responses import RESPONSES
from benchmarks import actor, relay, translation

__all__ = ["GROUPS", "Group", "measured_of"]

Round = Callable[[], Mapping[str, float]]

_ACTOR_ROUNDS, _ACTOR_REPEATS = 20_000, 2
_CHECKPOINTS, _EVENTS = 20_000, 10_000
_RELAY = {
    "unary": relay.Plan(requests=400, streams=0, callers=32, rounds=1),
    "bursts": relay.Plan(requests=0, streams=64, callers=32, rounds=1),
    "alone": relay.Plan(requests=0, streams=32, callers=32, rounds=1),
}


@dataclass(frozen=True)
class Group:
    """Figures that are measured together: entering `open` prepares, each call is one round."""

    name: str
    open: Callable[[], AbstractContextManager[Round]]


def measured_of(group: Group, rounds: int) -> dict[str, float]:
    """The median of each figure of a group over so many rounds."""
    with group.open() as measure:
        seen: Sequence[Mapping[str, float]] = [measure() for _ in range(rounds)]
    return {name: median(one[name] for one in seen) for name in seen[0]}


@contextmanager
def _open_actor() -> Iterator[Round]:
    yield _measure_actor


def _measure_actor() -> dict[str, float]:
    """The tier actor and its pure state, in checkpoints."""
    costs = dict(actor.measure_all(_ACTOR_ROUNDS, _ACTOR_REPEATS))
    checkpoint = costs.pop(actor.CHECKPOINT)
    return {f"actor: {name}": cost / checkpoint for name, cost in costs.items()}


@contextmanager
def _open_translation() -> Iterator[Round]:
    yield _measure_translation


def _measure_translation() -> dict[str, float]:
    """One event of text through each pair of dialects, in checkpoints."""
    checkpoint = min(
        trio.run(actor.loop, trio.lowlevel.checkpoint, 1, _CHECKPOINTS) for _ in range(3)
    )
    return {
        f"translation: {engine.value} to {dialect.name}": min(
            sum(translation.measure(dialect, engine, "text", _EVENTS)) / 10 / checkpoint
            for _ in range(2)
        )
        for engine in translation.ENGINES
        for dialect in (CHAT, MESSAGES, RESPONSES)
    }


@contextmanager
def _open_relay() -> Iterator[Round]:
    with relay.running_targets() as targets:
        yield lambda: _measure_relay(targets)


def _measure_relay(targets: Sequence[relay.Target]) -> dict[str, float]:
    """A request and an event through each pair of dialects, in bare replies of hypercorn."""
    figures = [
        one for kind, plan in _RELAY.items() for one in relay.measure_round(targets, plan, [kind])
    ]
    bare = {one.kind: one.cpu_us for one in figures if one.target == relay.BARE}
    return {
        f"relay: {one.target}, {one.kind}": one.cpu_us / bare[one.kind]
        for one in figures
        if one.target != relay.BARE
    }


GROUPS = (
    Group("actor", _open_actor),
    Group("translation", _open_translation),
    Group("relay", _open_relay),
)
