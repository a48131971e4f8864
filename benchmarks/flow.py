"""How a stream of the benchmarks' engine shall flow, as words that stand in the prompt."""

import re
from dataclasses import dataclass

__all__ = ["MARK", "Flow", "parse_flow"]

MARK = re.compile(rb"@(\d+\.\d{6}) ")
"""The token of a timed event: when it was written, in seconds of the host's monotonic clock."""

_WORDS = re.compile(rb"(\d+) (timed|plain) events, (\d+\.\d{6}) s apart")


@dataclass(frozen=True)
class Flow:
    """So many events that carry a token, each `gap_s` after the one before it or at once.

    Events that `are_timed` carry a `MARK`.
    """

    events: int = 64
    gap_s: float = 0.0
    are_timed: bool = False

    @property
    def words(self) -> str:
        """What is said in the prompt; `parse_flow` reads it."""
        kind = "timed" if self.are_timed else "plain"
        return f"{self.events} {kind} events, {self.gap_s:.6f} s apart"


def parse_flow(body: bytes) -> Flow:
    """The flow that a request asks for; the usual one if it says nothing of it."""
    found = _WORDS.search(body)
    if found is None:
        return Flow()
    return Flow(int(found[1]), float(found[3]), found[2] == b"timed")
