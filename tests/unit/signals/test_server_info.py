"""How many requests an engine says that it runs at a time."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.signals.server_info import parse_places

FOLDER = Path(__file__).parents[2] / "data" / "served"


@pytest.mark.parametrize(
    ("name", "places"), [("sglang-server-info", 2048), ("llamacpp-props", 2), ("vllm-models", None)]
)
def test_real_pages_say_what_they_run(name, places):
    """SGLang's schedulers tell what they made of no setting; llama.cpp has slots; vLLM is mute."""
    assert parse_places((FOLDER / f"{name}.json").read_bytes()) == places


@pytest.mark.parametrize(
    ("page", "places"),
    [
        ({"max_running_requests": 48, "max_num_seqs": 9}, 48),
        ({"max_running_requests": None, "max_num_seqs": 9}, 9),
        ({"max_running_requests": 10**9}, 100_000),
        ({"max_running_requests": 0}, None),
        ({"max_running_requests": -1, "total_slots": 4}, None),
        ({"max_running_requests": "48"}, None),
        ({"internal_states": [{"effective_max_running_requests_per_dp": 3}] * 2}, 6),
        ({"internal_states": [{"effective_max_running_requests_per_dp": 3}, {}]}, None),
        ({"internal_states": [], "total_slots": 4}, 4),
        ([], None),
    ],
)
def test_the_first_number_that_is_said_counts(page, places):
    """What the operator set, else the schedulers together, else slots; an odd one is none."""
    assert parse_places(json.dumps(page).encode()) == places


@given(st.binary(max_size=60))
def test_no_page_raises(body):
    """Whatever is there, it is a number in range or nothing."""
    places = parse_places(body)
    assert places is None or 1 <= places <= 100_000
