"""The strategies' benchmark on virtual time."""

from benchmarks.conversations import Conversation, PrefixMemory
from benchmarks.strategies import on_virtual_time, verdict
from benchmarks.strategies_plan import Plan


def test_capacity_is_worth_its_ceilings():
    """At least 1.4 times round robin without ceilings, and the same as with them within 2 %."""
    gain, parity, is_right = verdict(on_virtual_time(Plan(measured_s=300.0)))
    assert is_right, (gain, parity)


def test_a_conversation_repeats_its_history_and_ends():
    """Each turn's prompt is longer by the same; after eight turns another conversation begins."""
    conversation = Conversation(3)
    seen = []
    for _ in range(9):
        seen.append((conversation.name, conversation.prompt_tokens))
        conversation.next_turn()
    assert seen[0] == ("conversation-3-0", 256)
    assert seen[7:] == [("conversation-3-0", 2048), ("conversation-3-1", 256)]


def test_an_engine_remembers_the_latest_conversations():
    """A known prefix is not read again; the conversation served longest ago is forgotten."""
    memory = PrefixMemory(2)
    asked = [("a", 10), ("b", 10), ("a", 30), ("c", 5), ("b", 10), ("c", 7)]
    assert [memory.tokens_to_read(name, tokens) for name, tokens in asked] == [10, 10, 20, 5, 10, 2]
    assert (memory.read, memory.reused) == (57, 15)
