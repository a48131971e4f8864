"""What may be logged of a bug."""

import pytest

from anvil_trio.bugs import where_raised


def raised(error: Exception) -> Exception:
    """The same exception, with a traceback."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_a_bug_is_named_by_kind_and_place():
    """The class and the raising line are told, the message is not."""
    found = where_raised(raised(ValueError("canary")))
    assert found["kind"] == "ValueError"
    assert found["where"].startswith(f"{__name__}:")
    assert "canary" not in str(found)


def test_a_group_is_named_by_its_first_leaf():
    """What a nursery wraps is unwrapped."""
    group = ExceptionGroup("canary", [ExceptionGroup("canary", [raised(KeyError("canary"))])])
    assert where_raised(group)["kind"] == "KeyError"


def test_a_bug_that_was_never_raised_has_no_place():
    """Without a traceback the place is empty."""
    assert where_raised(ValueError()) == {"kind": "ValueError", "where": ""}
