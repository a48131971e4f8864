"""What was measured is kept as bytes that their digest names."""

import hashlib
import json

from anvil_trio.conform.verdict import Result, failed, passed
from anvil_trio.evals.evidence import EVIDENCE_SCHEMA, make_evidence, project_results
from anvil_trio.names import is_qualification_ref

RESULTS = [
    Result("unary", "a whole answer", passed("Good.", {"b": 1}, z=1, a=2)),
    Result("stream", "events", failed("Bad.")),
]


def made(results=RESULTS, **other):
    """The evidence of one run."""
    words = {"model": "m", "dialect": "openai", "version": "1", "made_at": "now"}
    return make_evidence(results, **{**words, **other})


def test_the_name_is_the_digest_of_the_bytes():
    """And fit for a `qualification_ref`."""
    evidence = made()
    assert evidence.sha256 == hashlib.sha256(evidence.data).hexdigest()
    assert evidence.name == f"preflight-{evidence.sha256}"
    assert is_qualification_ref(evidence.name)


def test_equal_findings_have_equal_bytes_and_others_have_not():
    """Keys are sorted and nothing depends on the process."""
    assert made() == made()
    assert (
        made().data
        == json.dumps(json.loads(made().data), sort_keys=True, separators=(",", ":")).encode()
        + b"\n"
    )
    assert made(RESULTS[:1]).sha256 != made().sha256 != made(made_at="then").sha256


def test_evidence_promotes_nothing_and_says_so():
    """Whatever was found."""
    document = json.loads(made().data)
    assert (document["schema"], document["promotes"]) == (EVIDENCE_SCHEMA, False)
    assert document["checks"] == project_results(RESULTS)
    assert document["checks"][0] == {
        "check": "unary",
        "outcome": "passed",
        "reason": "Good.",
        "facts": {"z": 1, "a": 2},
        "settings": {"b": 1},
    }
