"""Conversations that grow turn by turn, and an engine's memory of what it has read of them."""

from collections import OrderedDict
from dataclasses import dataclass

__all__ = ["Conversation", "PrefixMemory"]

TURNS = 8
TOKENS_A_TURN = 256


class PrefixMemory:
    """How much of each conversation an engine still holds: of the `size` that it served last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[str, int] = OrderedDict()
        self.read = self.reused = 0

    def tokens_to_read(self, conversation: str, prompt_tokens: int) -> int:
        """What is left to read of a prompt; from now on all of it is known."""
        known = min(self._known.pop(conversation, 0), prompt_tokens)
        self._known[conversation] = prompt_tokens
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        self.reused += known
        self.read += prompt_tokens - known
        return prompt_tokens - known


@dataclass
class Conversation:
    """One caller's: each turn repeats the whole history; after some turns another one begins."""

    caller: int
    number: int = 0
    turn: int = 0

    @property
    def name(self) -> str:
        """Opaque, as a session id is."""
        return f"conversation-{self.caller}-{self.number}"

    @property
    def prompt_tokens(self) -> int:
        """How long this turn's prompt is."""
        return (self.turn + 1) * TOKENS_A_TURN

    def next_turn(self) -> None:
        """Go on, or begin anew."""
        self.turn += 1
        if self.turn == TURNS:
            self.number, self.turn = self.number + 1, 0
