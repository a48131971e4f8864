"""Arguments: the schema that is shown and the check that is made say the same."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from anvil_trio.media.arguments import (
    ARTIFACT_ID,
    JOB_ID,
    SUBMISSION,
    VALIDATION,
    WORKFLOW,
    Fault,
    read_arguments,
    schema_of,
    submission_of,
)

LISTS = (WORKFLOW, VALIDATION, SUBMISSION, JOB_ID, ARTIFACT_ID, ())
RIGHT: dict[str, JsonValue] = {
    "workflowId": "paint",
    "version": "2",
    "parameters": {"prompt": "x"},
    "idempotencyKey": "key",
}


def test_what_is_right_makes_a_submission():
    """Names, version, parameters, key and profile arrive as they were given."""
    given_ = {**RIGHT, "qualityProfile": "draft"}
    assert read_arguments(given_, SUBMISSION) is None
    made = submission_of(given_)
    assert (made.workflow_id, made.version, made.parameters) == ("paint", "2", {"prompt": "x"})
    assert (made.idempotency_key, made.quality_profile) == ("key", "draft")
    assert submission_of(RIGHT).quality_profile is None


def test_a_dry_run_needs_no_key():
    """One stands in for it, which is a valid one."""
    asked = {key: value for key, value in RIGHT.items() if key != "idempotencyKey"}
    assert read_arguments(asked, VALIDATION) is None
    assert submission_of(asked).idempotency_key


@pytest.mark.parametrize("name", ["workflowId", "version", "parameters", "idempotencyKey"])
def test_what_is_required_is_named(name):
    """A missing argument is told by its name."""
    asked = {key: value for key, value in RIGHT.items() if key != name}
    assert read_arguments(asked, SUBMISSION) == Fault(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workflowId", ""),
        ("workflowId", "x" * 129),
        ("workflowId", 5),
        ("parameters", []),
        ("parameters", None),
        ("qualityProfile", None),
        ("idempotencyKey", "x" * 129),
    ],
)
def test_what_does_not_fit_is_named(name, value):
    """Of another kind, empty or too long."""
    assert read_arguments({**RIGHT, name: value}, SUBMISSION) == Fault(name)


def test_a_foreign_name_is_not_repeated():
    """It came from the caller."""
    assert read_arguments({**RIGHT, "kanarie": 1}, SUBMISSION) == Fault(None)


values = st.one_of(
    st.none(), st.integers(), st.text(max_size=300), st.dictionaries(st.text(), st.integers())
)
names = st.sampled_from([
    "workflowId", "version", "parameters", "idempotencyKey", "qualityProfile", "jobId",
    "artifactId", "other",
])  # fmt: skip


@given(st.sampled_from(LISTS), st.dictionaries(names, values))
def test_the_schema_and_the_check_agree(arguments, given_):
    """Whoever follows the schema is never refused for it, and nobody else gets through."""
    is_valid = jsonschema.Draft202012Validator(schema_of(arguments)).is_valid(given_)
    assert is_valid is (read_arguments(given_, arguments) is None)
