"""What callers are shown of workflows, jobs and artifacts."""

import json
from dataclasses import replace

import msgspec
import pytest

from anvil_trio.media.refusals import WORDS, a2a_error, show_refusal
from anvil_trio.media.shown import (
    elapsed_ms,
    iso_time,
    show_artifact,
    show_capabilities,
    show_job,
    show_validation,
    show_workflow,
    show_workflows,
)
from anvil_trio.operations.model import FailureCode, Refusal, RefusalCode, State
from tests.support.fake_operations import PAINT, PRINCIPAL, FakeOperations, submission

ORIGIN = "https://media.test"


def plain(shape):
    """A shape as its reader finds it."""
    return json.loads(msgspec.json.encode(shape))


def test_a_workflow_in_the_list():
    """Enough to choose one."""
    shown = plain(show_workflows([PAINT]))
    assert shown == {
        "workflows": [
            {
                "id": "paint",
                "version": "2",
                "title": "Paint",
                "description": "Paints a picture.",
                "outputMediaType": "image/png",
                "requiresApproval": False,
            }
        ]
    }


def test_a_workflow_in_full():
    """All that a submission may say, with its bounds."""
    shown = plain(show_workflow(PAINT))
    assert shown["parameters"][1] == {
        "name": "width",
        "kind": "integer",
        "required": False,
        "description": "",
        "default": 64,
        "minimum": 16,
        "maximum": 512,
        "maxLength": None,
        "choices": [],
    }
    assert shown["parameters"][0]["maxLength"] == 200
    assert shown["parameters"][2]["choices"] == ["plain", "bold"]
    assert shown["qualityProfiles"] == [{"id": "draft", "title": "Draft", "locked": {"width": 32}}]


def test_a_job_and_what_it_made():
    """Where it stands, how long each part took, and where its artifacts are."""
    service = FakeOperations()
    operation = service.add(PRINCIPAL, replace(submission(), quality_profile="draft"))
    service.move(operation.id, State.PREPARING, State.SUBMITTING, State.QUEUED, State.RUNNING)
    artifact = service.keep(b"png", operation.id)
    ended = service.move(operation.id, State.COMPLETED)
    shown = plain(show_job(ended, [artifact], ORIGIN))
    assert shown["jobId"] == operation.id
    assert shown["workflow"] == {"id": "paint", "version": "2"}
    assert (shown["state"], shown["isTerminal"], shown["sequence"]) == ("completed", True, 6)
    assert (shown["qualityProfile"], shown["failureCode"]) == ("draft", None)
    assert (shown["createdAt"], shown["updatedAt"]) == (
        "1970-01-01T00:16:40.000Z",
        "1970-01-01T00:16:45.000Z",
    )
    assert shown["latency"] == {"submittedMs": 3000, "startedMs": 4000, "endedMs": 5000}
    assert shown["artifacts"] == [plain(show_artifact(artifact, ORIGIN))]
    assert shown["artifacts"][0] == {
        "artifactId": artifact.id,
        "jobId": operation.id,
        "mediaType": "image/png",
        "size": 3,
        "createdAt": "1970-01-01T00:16:40.000Z",
        "expiresAt": "1970-01-01T01:16:40.000Z",
        "url": f"{ORIGIN}/artifacts/{artifact.id}",
    }


def test_a_job_that_failed_says_why():
    """In a fixed word; what has not been is null."""
    service = FakeOperations()
    operation = service.add(PRINCIPAL, submission())
    shown = show_job(service.move(operation.id, State.FAILED), [], ORIGIN)
    assert shown.failure_code == FailureCode.TIMED_OUT.value
    assert shown.latency.started_ms is None


def test_a_dry_run():
    """Yes, or why not and which parameter."""
    assert plain(show_validation(None)) == {
        "isValid": True,
        "code": None,
        "field": None,
    }
    refusal = Refusal(RefusalCode.PARAMETER_INVALID, "width")
    assert plain(show_validation(refusal)) == {
        "isValid": False,
        "code": "parameter_invalid",
        "field": "width",
    }


def test_capabilities_name_the_scopes_in_order():
    """The same credential is always told the same."""
    shown = show_capabilities(FakeOperations().capabilities(), ["media:submit", "media:read"])
    assert shown.scopes == ("media:read", "media:submit")
    assert (shown.backend, shown.workflows, shown.max_active) == ("demo", 3, 4)


def test_time_is_told_to_the_millisecond():
    """In UTC; a span is never negative."""
    assert iso_time(0.25) == "1970-01-01T00:00:00.250Z"
    assert iso_time(1_800_000_000.25) == "2027-01-15T08:00:00.250Z"
    assert (elapsed_ms(2.0, 1.0), elapsed_ms(1.0, 1.2346), elapsed_ms(1.0, None)) == (0, 235, None)


@pytest.mark.parametrize("code", RefusalCode)
def test_every_refusal_has_its_words(code):
    """Both protocols say the same of it, and name a declared field only."""
    shown = show_refusal(Refusal(code, "width"))
    assert (shown.code, shown.message, shown.field) == (code.value, WORDS[code], "width")
    error = a2a_error(Refusal(code))
    assert error.message == WORDS[code]
    assert isinstance(error.data, list)
    assert error.data[0] == {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": error.code.name,
        "domain": "a2a-protocol.org",
        "metadata": {"code": code.value},
    }
    with_field = a2a_error(Refusal(code, "width")).data
    assert isinstance(with_field, list)
    assert with_field[0]["metadata"] == {"code": code.value, "field": "width"}  # type: ignore[index,call-overload]
