"""The diagram of a request's life, made from the tables that hold every request to it."""

from collections.abc import Iterable, Sequence

from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.phases import ANYWHERE, LIFE, Phase

__all__ = ["diagram"]


def diagram() -> str:
    """The page's block: the phases in a line, what each holds, and how it may end."""
    line = [phase for phase in LIFE if phase is not Phase.TOLD]
    rows = ["```text", " ──► ".join(line), *_ends_of(line), "```", ""]
    rows += ["| phase | holds | may end as |", "|---|---|---|"]
    for phase, stage in LIFE.items():
        rows.append(f"| {phase} | {', '.join(stage.holds) or 'nothing'} | {_listed(stage.ends)} |")
    rows.append(f"| any of them | | {_listed(ANYWHERE)} |")
    return "\n".join(rows)


def _ends_of(line: Sequence[Phase]) -> Iterable[str]:
    """From the middle of each phase's name an arm goes down to where it is told."""
    arms, at = [], 0
    for phase in line:
        arms.append(at + len(phase) // 2)
        at += len(phase) + len(" ──► ")
    marks = dict.fromkeys(arms, "│")
    yield "".join(marks.get(column, " ") for column in range(arms[-1] + 1))
    joint = dict.fromkeys(arms, "┴") | {arms[0]: "└"}
    tail = f"──► {Phase.TOLD} ──► one record"
    yield "".join(" " if n < arms[0] else joint.get(n, "─") for n in range(arms[-1] + 1)) + tail


def _listed(outcomes: frozenset[Outcome]) -> str:
    return ", ".join(f"`{outcome}`" for outcome in Outcome if outcome in outcomes)
