"""How an overlay changes a topology."""

import pytest

from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.overlay import merge_overlay
from anvil_trio.topology.problems import TopologyError
from tests.unit.topology.toml import topology

A, B = {"id": "a", "x": 1}, {"id": "b", "x": 2}


@pytest.mark.parametrize(
    ("base", "overlay", "merged"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"t": {"a": 1, "b": 1}}, {"t": {"b": 2}}, {"t": {"a": 1, "b": 2}}),
        ({"t": {"a": 1}}, {"t": 3}, {"t": 3}),
        ({"t": 3}, {"t": {"a": 1}}, {"t": {"a": 1}}),
        ({"r": [A, B]}, {"r": [{"id": "b", "y": 3}]}, {"r": [A, {**B, "y": 3}]}),
        ({"r": [A]}, {"r": [B, {"id": "a", "x": 9}]}, {"r": [{"id": "a", "x": 9}, B]}),
        ({"r": [A]}, {"r": []}, {"r": [A]}),
        ({"r": []}, {"r": [A]}, {"r": [A]}),
        ({"r": ["p"]}, {"r": ["q"]}, {"r": ["q"]}),
        ({"r": ["p"]}, {"r": []}, {"r": []}),
        ({"r": [A]}, {"r": [{"x": 1}]}, {"r": [{"x": 1}]}),
        ({"r": [A]}, {"r": [{"id": 1}]}, {"r": [{"id": 1}]}),
        ({"r": [A, A]}, {"r": [{"id": "a", "y": 3}]}, {"r": [{**A, "y": 3}, A]}),
        ({"r": [A]}, {"r": [{"id": "a", "y": 3}, B, B]}, {"r": [{**A, "y": 3}, B, B]}),
        ({"r": [A]}, {"r": [{"id": "a"}, {"id": "a"}]}, {"r": [A, {"id": "a"}]}),
        (
            {"r": [{"id": "a", "s": [A]}]},
            {"r": [{"id": "a", "s": [B]}]},
            {"r": [{"id": "a", "s": [A, B]}]},
        ),
    ],
)
def test_tables_merge_rows_merge_by_id_and_all_else_is_replaced(base, overlay, merged):
    """An id that stands twice on one side stays twice, to be refused as such."""
    before = repr((base, overlay))
    assert merge_overlay(base, overlay) == merged
    assert repr((base, overlay)) == before


def test_an_overlay_adds_what_is_private():
    """A public topology gets its endpoint from a file beside it, by the resource's id."""
    parsed = parse_topology(
        topology(), b'[[resources]]\nid = "resource-b"\nendpoint = "http://10.0.0.2:8002/v1"\n'
    )
    assert [row.endpoint for row in parsed.resources] == [
        "http://127.0.0.1:8001/v1",
        "http://10.0.0.2:8002/v1",
    ]


def test_what_an_overlay_makes_is_checked_as_a_whole():
    """A row that it adds needs everything that a row needs."""
    with pytest.raises(TopologyError) as caught:
        parse_topology(topology(), b'[[hosts]]\nid = "host-two"\n')
    assert [problem.line for problem in caught.value.problems] == ["hosts[1].roles: is required"]
