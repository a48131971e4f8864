"""Tool calls in streams: which piece belongs to which call."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.ir import FinishReason
from anvil_trio.dialects.tool_calls import CallNumbers, as_argument_string, mended_arguments
from tests.unit.dialects.chats import DONE, choice, delta, event, new_stream, served, translated

ABSENT = object()


@pytest.mark.parametrize(
    ("pieces", "numbers"),
    [
        ([(0, "a"), (0, None), (0, None)], [0, 0, 0]),
        ([(0, "a"), (1, "b"), (0, None), (1, None)], [0, 1, 0, 1]),
        ([(0, "a"), (0, "b"), (0, None)], [0, 1, 1]),  # Ollama: a new id on a used index
        ([(0, "a"), (0, "a"), (0, "a")], [0, 0, 0]),  # the id on every piece
        ([(0, "a"), (0, "b"), (0, "a")], [0, 1, 0]),
        ([(0, None), (0, "a"), (0, None)], [0, 0, 0]),  # the id comes late
        ([(0, None), (0, "a"), (0, "b")], [0, 0, 1]),
        ([(0, ""), (0, ""), (1, "")], [0, 0, 1]),
        ([(3, "a"), (7, "b"), (3, None)], [0, 1, 0]),  # gaps
        ([(1, "b"), (0, "a"), (1, None)], [0, 1, 0]),
        ([(0, "a"), (1, "a")], [0, 1]),  # one id for two indexes
        ([(None, "a"), (None, "b"), (None, None)], [0, 1, 1]),  # no index
        ([(0, "a"), (None, None)], [0, 0]),
        ([(0, "a"), (1, "b"), (None, "a")], [0, 1, 0]),
        ([(None, None), (None, None)], [0, 0]),
        ([(0, 7), (0, 8), (0, 7)], [0, 1, 0]),  # ids that are numbers
    ],
)
def test_calls_are_numbered_in_the_order_they_begin(pieces: list[Any], numbers: list[Any]):
    """Whatever an engine uses to tell them apart."""
    calls = CallNumbers()
    assert [calls.number(index, call_id) for index, call_id in pieces] == numbers
    assert calls.count == max(numbers) + 1


@given(st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("abc"))))
def test_numbers_never_have_gaps(pieces: list[Any]):
    """Each number is one that was given before or the next one."""
    calls = CallNumbers()
    begun = 0
    for index, call_id in pieces:
        number = calls.number(index, call_id)
        assert 0 <= number <= begun
        begun = max(begun, number + 1)
    assert calls.count == begun


@pytest.mark.parametrize(
    ("sent", "mended"),
    [
        (b'""', b'"{}"'),
        (b"null", b'"{}"'),
        (b'"{}"', b'"{}"'),
        (b'" "', b'" "'),
        (b'{ "a": "\\u00e9\\n" }', b'"{ \\"a\\": \\"\\\\u00e9\\\\n\\" }"'),
        (b"[]", b'"[]"'),
    ],
)
def test_arguments_of_a_whole_call_are_mended(sent: bytes, mended: bytes):
    """What is no string becomes its own text; no string is edited but the empty one."""
    assert bytes(mended_arguments(msgspec.Raw(sent))) == mended


def test_arguments_that_are_fine_are_the_same_object():
    """So that a caller of it can tell that nothing must change."""
    fine = msgspec.Raw(b'"{}"')
    assert mended_arguments(fine) is fine
    assert as_argument_string(fine) is fine


def piece(index: object = 0, **rest) -> dict[str, Any]:
    """One piece of a call; without an index if it is ABSENT."""
    return rest if index is ABSENT else {"index": index, **rest}


def calls_of(out: list[Any]) -> list[dict[str, Any]]:
    """All pieces of all calls, in order."""
    chunks = [one for one in out if one != DONE]
    return [call for one in chunks for call in one["choices"][0]["delta"].get("tool_calls") or ()]


def test_pieces_without_an_index_get_one():
    """A caller's SDK joins the pieces by it."""
    pieces = [
        piece(ABSENT, id="a", function={"name": "f", "arguments": '{"a"'}),
        piece(None, function={"arguments": ":1}"}),
        piece(ABSENT, id="b", function={"name": "g", "arguments": "{}"}),
    ]
    out = translated(*(delta({"tool_calls": [one]}) for one in pieces), delta(finish="tool_calls"))
    assert [call["index"] for call in calls_of(out)] == [0, 0, 1]


def test_calls_of_one_event_that_share_an_index_are_told_apart():
    """By their ids; the one that is right keeps its bytes."""
    both = [
        piece(id="a", function={"arguments": "{}"}),
        piece(id="b", function={"arguments": "{}"}),
    ]
    out = translated(delta({"tool_calls": both}), delta(finish="tool_calls"))
    assert [call["index"] for call in calls_of(out)] == [0, 1]


def test_each_choice_counts_for_itself():
    """Two choices both begin at 0."""
    one = piece(4, id="a", function={"name": "f", "arguments": "{}"})
    out = translated(
        delta({"tool_calls": [one]}, finish="tool_calls"),
        delta({"tool_calls": [one]}, index=1, finish="tool_calls"),
        choices=2,
    )
    assert [call["index"] for call in calls_of(out)] == [0, 0]


def test_null_ids_and_names_pass_as_sent():
    """SGLang repeats them as null."""
    pieces = [
        piece(id="a", type="function", function={"name": "f", "arguments": ""}),
        piece(id=None, type="function", function={"name": None, "arguments": "{}"}),
    ]
    out = translated(*(delta({"tool_calls": [one]}) for one in pieces), delta(finish="tool_calls"))
    assert calls_of(out) == pieces


def test_a_call_without_arguments_is_filled_in_its_own_event():
    """Where the finish reason comes with it there is no later chunk to do so."""
    bare = piece(id="a", type="function", function={"name": "f"})
    out = translated(delta({"tool_calls": [bare]}, finish="tool_calls"))
    assert out[0]["choices"][0] == choice(
        {
            "tool_calls": [{**bare, "function": {"name": "f", "arguments": "{}"}}],
            "role": "assistant",
        },
        finish="tool_calls",
    )
    assert len(out) == 2


def test_calls_are_filled_before_a_stop_too():
    """Engines may end a named call with `stop`; only those that lack arguments are filled."""
    pieces = [
        piece(0, id="a", function={"name": "f", "arguments": ""}),
        piece(1, id="b", function={"name": "g", "arguments": "{}"}),
        piece(2, id="c", function={"name": "h", "arguments": None}),
    ]
    out = translated(*(delta({"tool_calls": [one]}) for one in pieces), delta(finish="stop"))
    assert [(call["index"], call["function"]) for call in calls_of(out)[3:]] == [
        (0, {"arguments": "{}"}),
        (2, {"arguments": "{}"}),
    ]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_cut_call_is_not_filled(reason: str):
    """Its arguments may have been about to come."""
    bare = piece(id="a", type="function", function={"name": "f", "arguments": ""})
    stream = new_stream()
    out = served(stream, delta({"tool_calls": [bare]}), delta(finish=reason))
    assert calls_of(out) == [bare]
    assert stream.finish_reason in {FinishReason.LENGTH, FinishReason.CONTENT_FILTER}


def test_an_empty_last_piece_does_not_fill_what_has_arguments():
    """The arguments came before."""
    first = piece(id="a", type="function", function={"arguments": "{}"})
    pieces = [first, piece(function={"arguments": ""})]
    out = translated(
        delta({"tool_calls": [pieces[0]]}), delta({"tool_calls": [pieces[1]]}, finish="tool_calls")
    )
    assert calls_of(out) == pieces


def test_a_call_that_is_no_function_is_not_filled():
    """Custom tools have an input, not arguments."""
    custom = piece(id="a", type="custom", custom={"name": "f", "input": "x"})
    out = translated(delta({"tool_calls": [custom]}), delta(finish="tool_calls"))
    assert calls_of(out) == [custom]


def test_object_arguments_are_renumbered_and_serialised_together():
    """One event may need all changes at once, and keeps the rest."""
    said = {
        "reasoning": "hm",
        "x": [1],
        "tool_calls": [piece(9, id="a", function={"name": "f", "arguments": {"a": [1, {}]}})],
    }
    usage = {"prompt_tokens": 1}
    out = served(new_stream(), delta(said, finish="tool_calls", usage=usage))
    assert out[0]["choices"][0]["delta"] == {
        "reasoning": "hm",
        "x": [1],
        "tool_calls": [
            piece(0, id="a", function={"name": "f", "arguments": '{"a":[1,{}]}'}, type="function"),
        ],
        "role": "assistant",
        "reasoning_content": "hm",
    }
    assert "usage" not in out[0]
    assert out[0]["model"] == "llm.primary"
    assert event(b"{}") == b"data: {}\n\n"
