"""The body of an activation."""

import json

import pytest

from anvil_trio.activation.order import ActivationOrder, parse_activation
from anvil_trio.errors import Code, Problem

DIGEST = "0123456789abcdef" * 4


def parsed(**fields):
    """What a body of these fields is read as."""
    return parse_activation(json.dumps(fields).encode())


@pytest.mark.parametrize(
    ("fields", "is_dry_run"),
    [
        ({}, True),
        ({"confirm": False}, True),
        ({"confirm": True}, False),
        ({"confirm": True, "dry_run": False}, False),
        ({"confirm": True, "dry_run": True}, True),
        ({"dry_run": False}, True),
    ],
)
def test_it_is_a_dry_run_unless_confirmed(fields, is_dry_run):
    """Nothing takes over without `confirm`, and `dry_run` is stronger."""
    assert parsed(sha256=DIGEST, **fields) == ActivationOrder(DIGEST, is_dry_run=is_dry_run)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"[]", None),
        (b'{"sha256": 1, "sha256": 2}', None),
        (json.dumps({"sha256": DIGEST, "path": "/x"}).encode(), None),
        (b"{}", "sha256"),
        (json.dumps({"sha256": DIGEST.upper()}).encode(), "sha256"),
        (json.dumps({"sha256": DIGEST[1:]}).encode(), "sha256"),
        (json.dumps({"sha256": DIGEST + "\n"}).encode(), "sha256"),
        (json.dumps({"sha256": None}).encode(), "sha256"),
        (json.dumps({"sha256": DIGEST, "confirm": 1}).encode(), "confirm"),
        (json.dumps({"sha256": DIGEST, "dry_run": "yes"}).encode(), "dry_run"),
    ],
)
def test_everything_else_is_a_400_that_names_the_field(body, param):
    """No path and no bytes can be sent; a value that is not valid is never repeated."""
    found = parse_activation(body)
    assert isinstance(found, Problem)
    assert (found.status, found.code, found.param) == (400, Code.INVALID_REQUEST, param)
    assert "/x" not in found.message
