"""The strategies' benchmark on virtual time, and its plot."""

from xml.etree import ElementTree as ET

from benchmarks.bars import write_bars
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


def test_the_plot_is_one_picture_that_says_every_figure(tmp_path):
    """The chart is well-formed, names each bar, and draws lengths in proportion."""
    path = tmp_path / "plots" / "bars.svg"
    write_bars(path, "A < B", [("one", 1.0, "1 req/s"), ("two", 2.0, "2 req/s")])
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["A < B", "one", "1 req/s", "two", "2 req/s"]
    one, two = (float(bar.get("width", 0)) for bar in root.iter("{http://www.w3.org/2000/svg}rect"))
    assert two == 2 * one
