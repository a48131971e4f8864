"""How long an engine leaves idle connections open: learned by looking at them, never by a request.

A request on a connection that the engine closes in the same moment is a failed attempt, and nothing
is tried again. So an idle connection is only used within what connections to that engine have been
seen to bear, with a margin: an engine that closes after half a second costs nobody a request.
"""

__all__ = ["ALWAYS_S", "Idleness"]

ALWAYS_S = 0.1
"""No engine closes sooner, and connections in steady use are never idle for longer."""

_SHARE = 0.8  # the margin


class Idleness:
    """What is known of one engine. `most_s` is the operator's bound; it is never exceeded.

    `usable_s` is how long a connection may have been idle and still be used.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._learn(0.0)

    def bore(self, idle_s: float) -> None:
        """A connection was found open after so long."""
        self._learn(max(self._borne_s, idle_s))

    def ended(self, idle_s: float) -> None:
        """A connection was found closed after so long: the engine closed it at some time before."""
        self._learn(min(self._borne_s, idle_s * _SHARE))

    def _learn(self, borne_s: float) -> None:
        self._borne_s = borne_s
        self.usable_s = min(self._most_s, max(ALWAYS_S, borne_s * _SHARE))
