"""When the pieces of a streamed answer came. Pure: bytes and times in, gaps out."""

from collections.abc import Iterator

from pydantic import JsonValue

from anvil_trio.conform.grammar import GrammarError, JsonObject, parse_object
from anvil_trio.dialects.sse import SseDecoder, SseEvent, SseTooLong

__all__ = ["TokenClock"]

_MAX_EVENT_BYTES = 16_777_216
_TEXTS = ("content", "reasoning_content", "reasoning", "reasoning_text")


class TokenClock:
    """Follows one stream of Chat or Messages and keeps the time of each event that says something.

    `first_s` is when the first came, `gaps_s` how long after one another the others did; events
    that one read brought have no gap. What is no event of the two dialects is passed over.
    """

    def __init__(self) -> None:
        self._decoder: SseDecoder | None = SseDecoder(_MAX_EVENT_BYTES)
        self._last_s = 0.0
        self.first_s: float | None = None
        self.gaps_s: list[float] = []
        self.completion_tokens: int | None = None
        """What the stream itself says that it took; None as long as it says nothing."""

    def hear(self, now_s: float, data: bytes) -> bool:
        """What one read brought, `now_s` seconds after the start. Always true: go on."""
        for event in self._events(data):
            try:
                found = parse_object(event.data)
            except GrammarError:
                continue
            self._take_counts(found.get("usage"))
            if _says_something(found):
                self._take(now_s)
        return True

    @property
    def pieces(self) -> int:
        """How many events said something."""
        return 0 if self.first_s is None else 1 + len(self.gaps_s)

    def _events(self, data: bytes) -> list[SseEvent]:
        if self._decoder is None:
            return []
        try:
            return self._decoder.feed(data)
        except SseTooLong as too_long:
            self._decoder = None
            return too_long.events

    def _take(self, now_s: float) -> None:
        if self.first_s is None:
            self.first_s = now_s
        else:
            self.gaps_s.append(now_s - self._last_s)
        self._last_s = now_s

    def _take_counts(self, usage: JsonValue) -> None:
        for name in ("completion_tokens", "output_tokens"):
            count = usage.get(name) if isinstance(usage, dict) else None
            if isinstance(count, int) and count >= 0:
                self.completion_tokens = count


def _says_something(event: JsonObject) -> bool:
    if event.get("type") == "content_block_delta":
        return True
    return any(
        delta.get("tool_calls") or any(delta.get(name) for name in _TEXTS)
        for delta in _deltas(event)
    )


def _deltas(event: JsonObject) -> Iterator[JsonObject]:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict):
            yield delta
