"""docs/activation.md: its table and its example are what the router says."""

import json
import re

from anvil_trio.activation.order import parse_activation
from anvil_trio.errors import Code, problem
from anvil_trio.views.activation import project_activation
from tests.house.tree import ROOT
from tests.support.small_house import config_of, direct_tier, replica_tier
from tests.unit.views.samples import read

PAGE = (ROOT / "docs" / "activation.md").read_text(encoding="utf-8")
ZEROS = "0" * 64


def test_the_example_is_an_answer():
    """Every key and every value, as the router shows them."""
    old = config_of(replica_tier())
    new = config_of(replica_tier(), direct_tier("second")).model_copy(update={"sha256": ZEROS})
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(example) == read(project_activation(old, new, is_applied=True))


def test_the_refusals_are_those_of_the_code():
    """Each row's status is that of its code, and no code of an activation is left out."""
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert [(int(status), code) for status, code in rows] == [
        (problem(code).status, code.value)
        for code in (
            Code.INVALID_REQUEST,
            Code.ACTIVATION_MISMATCH,
            Code.ACTIVATION_INVALID,
            Code.ACTIVATION_REQUIRES_RESTART,
            Code.SERVER_BUSY,
            Code.ACTIVATION_FAILED,
        )
    ]


def test_the_command_of_the_page_sends_a_valid_order():
    """What the page's command line sends, with a digest filled in, is an order."""
    (body,) = re.findall(r"-d '(.*)'$", PAGE, re.MULTILINE)
    parsed = parse_activation(re.sub(r"'\$\(.*?\)'", ZEROS, body).encode())
    assert getattr(parsed, "sha256", None) == ZEROS
