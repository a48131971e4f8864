"""Who is quiesced, and why."""

import pytest

from anvil_trio.intent.intents import Intents, is_reason
from anvil_trio.names import MemberId, TierId

ONE, TWO = TierId("one"), TierId("two")
A, B = MemberId("a"), MemberId("b")


def test_a_tier_and_its_members_are_independent():
    """Readmitting a tier leaves its members' intents, and the other way round."""
    both = Intents().quiesced(ONE, None, "upgrade").quiesced(ONE, A, "disk")
    assert (both.reason(ONE), both.reason(ONE, A), both.reason(ONE, B)) == ("upgrade", "disk", None)
    assert both.readmitted(ONE, None) == Intents().quiesced(ONE, A, "disk")
    assert both.readmitted(ONE, A) == Intents().quiesced(ONE, None, "upgrade")


def test_a_change_makes_a_new_value():
    """What somebody holds never changes under their hands."""
    before = Intents()
    after = before.quiesced(ONE, None, "x")
    assert (before.reason(ONE), after.reason(ONE)) == (None, "x")
    with pytest.raises(TypeError):
        after.reasons[TWO, None] = "y"  # type: ignore[index]


def test_the_newest_reason_counts():
    """Quiescing again says why anew."""
    assert Intents().quiesced(ONE, A, "x").quiesced(ONE, A, "y").reason(ONE, A) == "y"


def test_readmitting_what_is_open_changes_nothing():
    """It is equal to what it was."""
    assert Intents().readmitted(ONE, None) == Intents()


def test_a_promotion_of_a_tier_does_not_last():
    """Only a tier's `promotion` ends with the process; a member's stays."""
    found = Intents().quiesced(ONE, None, "promotion").quiesced(ONE, A, "promotion")
    found = found.quiesced(TWO, None, "upgrade")
    assert found.lasting() == found.readmitted(ONE, None)


def test_what_is_known_is_kept():
    """A tier or a member that the configuration lacks is left out; a direct tier has no member."""
    found = Intents().quiesced(ONE, None, "x").quiesced(ONE, A, "x").quiesced(ONE, B, "x")
    found = found.quiesced(TWO, None, "x").quiesced(TWO, A, "x")
    assert found.known({ONE: (A,)}) == Intents().quiesced(ONE, None, "x").quiesced(ONE, A, "x")
    assert found.known({TWO: ()}) == Intents().quiesced(TWO, None, "x")


@pytest.mark.parametrize(
    ("text", "is_code"),
    [
        ("promotion", True),
        ("a-1_b.C", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("", False),
        ("a b", False),
        ("a\n", False),
        ("é", False),
        ("a/b", False),
    ],
)
def test_a_reason_is_a_short_code(text, is_code):
    """At most 128 letters, digits, `-`, `_` and `.`: nothing that could carry content."""
    assert is_reason(text) is is_code
