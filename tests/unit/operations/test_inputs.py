"""What a caller may ask of a workflow, value by value."""

import dataclasses
import math

import pytest

from anvil_trio.operations.inputs import Inputs, check_inputs, fits
from anvil_trio.operations.model import (
    Kind,
    Parameter,
    QualityProfile,
    Refusal,
    RefusalCode,
    Submission,
    Workflow,
)

ARTIFACT = "art_" + "a" * 32
PROMPT = Parameter("prompt", Kind.STRING, required=True, max_length=5)
STEPS = Parameter("steps", Kind.INTEGER, default=4, minimum=1, maximum=9)
WORKFLOW = Workflow(
    "w",
    "1",
    "W",
    parameters=(
        PROMPT,
        STEPS,
        Parameter("strength", Kind.NUMBER, minimum=0, maximum=1),
        Parameter("is_tiled", Kind.BOOLEAN),
        Parameter("style", Kind.STRING, choices=("flat", "round")),
        Parameter("picture", Kind.ARTIFACT),
    ),
    quality_profiles=(QualityProfile("draft", "Draft", {"steps": 2, "strength": 1}),),
)


def asked(profile: str | None = None, key: str = "k", **values: object) -> Submission:
    """A submission of these values."""
    return Submission("w", "1", values, key, profile)


def checked(submission: Submission) -> Inputs:
    """Its inputs; it has no fault."""
    found = check_inputs(submission, WORKFLOW)
    assert isinstance(found, Inputs), found
    return found


def test_what_nobody_says_is_the_registrys_default_or_left_out() -> None:
    """An optional parameter without a default has no value."""
    assert checked(asked(prompt="a")).values == {"prompt": "a", "steps": 4}


def test_a_profile_gives_its_parameters_their_values() -> None:
    """Whether or not they have defaults."""
    found = checked(asked("draft", prompt="a"))
    assert found.values == {"prompt": "a", "steps": 2, "strength": 1.0}


def test_artifacts_are_named_by_their_parameters() -> None:
    """So that whoever keeps them can be asked for them."""
    assert checked(asked(prompt="a")).artifacts == ()
    assert checked(asked(prompt="a", picture=ARTIFACT)).artifacts == ("picture",)


@pytest.mark.parametrize(
    ("submission", "refusal"),
    [
        (asked(), Refusal(RefusalCode.PARAMETER_REQUIRED, "prompt")),
        (asked(prompt="abcdef"), Refusal(RefusalCode.PARAMETER_INVALID, "prompt")),
        (asked(prompt="a", steps=10), Refusal(RefusalCode.PARAMETER_INVALID, "steps")),
        (asked(prompt="a", other=1), Refusal(RefusalCode.PARAMETER_UNKNOWN)),
        (asked("fine", prompt="a"), Refusal(RefusalCode.UNKNOWN_QUALITY_PROFILE)),
        (asked("draft", prompt="a", steps=2), Refusal(RefusalCode.PARAMETER_LOCKED, "steps")),
        (asked(key="", prompt="a"), Refusal(RefusalCode.IDEMPOTENCY_KEY_INVALID)),
        (asked(key="k" * 129, prompt="a"), Refusal(RefusalCode.IDEMPOTENCY_KEY_INVALID)),
        (asked(key="a b", prompt="a"), Refusal(RefusalCode.IDEMPOTENCY_KEY_INVALID)),
        (asked(key="k\n", prompt="a"), Refusal(RefusalCode.IDEMPOTENCY_KEY_INVALID)),
    ],
)
def test_what_does_not_obey_is_refused(submission: Submission, refusal: Refusal) -> None:
    """With a code and the registry's own name of the parameter, nothing of what was said."""
    assert check_inputs(submission, WORKFLOW) == refusal


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("prompt", ["", "abcde", "äöüßé", "a\nb"], [1, None, "abcdef", "\ud800", "\0", ["a"]]),
        ("steps", [1, 9], [0, 10, 1.0, True, "1", None, math.nan]),
        ("strength", [0, 1, 0.5], [-0.1, 1.1, math.nan, math.inf, True, "0.5", None, 10**400]),
        ("is_tiled", [True, False], [0, 1, "true", None]),
        ("style", ["flat", "round"], ["square", "", 1, None]),
        ("picture", [ARTIFACT], ["art_short", "", 1, ARTIFACT + "\n", "../" + ARTIFACT]),
    ],
)
def test_each_kind_takes_its_own_values_only(
    name: str, good: list[object], bad: list[object]
) -> None:
    """Within the bounds of the registry."""
    (parameter,) = (each for each in WORKFLOW.parameters if each.name == name)
    assert [value for value in good if not fits(parameter, value)] == []
    assert [value for value in bad if fits(parameter, value)] == []


def test_a_choice_of_numbers_takes_no_truth() -> None:
    """Although one equals the other."""
    parameter = Parameter("size", Kind.INTEGER, choices=(1, 2))
    assert fits(parameter, 1)
    assert not fits(parameter, True)


def test_the_digest_is_of_what_the_caller_said() -> None:
    """Another order is the same, another value is not, and neither is a default spelled out."""
    digest = checked(asked(prompt="a", strength=1)).digest
    assert checked(asked(strength=1.0, prompt="a")).digest == digest
    others = [
        asked(prompt="b", strength=1),
        asked(prompt="a"),
        asked(prompt="a", strength=1, steps=4),
        asked(prompt="a", strength=1, is_tiled=True),
    ]
    assert digest not in {checked(other).digest for other in others}
    assert checked(asked("draft", prompt="a")).digest != checked(asked(prompt="a")).digest


def test_a_submission_never_shows_what_it_holds() -> None:
    """Nor do the inputs made of it."""
    submission = dataclasses.replace(asked(key="secret-key", prompt="words"))
    assert "words" not in repr(submission)
    assert "secret-key" not in repr(submission)
    assert "words" not in repr(checked(submission))
