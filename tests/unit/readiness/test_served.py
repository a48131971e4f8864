"""What an engine says that it serves, and what is adopted of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.facts import Answer, Served, Silence, Verdict
from anvil_trio.readiness.served import Named, judge_served, read_named, read_props
from anvil_trio.readiness.verdict import Finding

FOLDER = Path(__file__).parents[2] / "data" / "served"


def page(name: str) -> Answer:
    """One captured page."""
    return Answer(200, (FOLDER / f"{name}.json").read_bytes())


def models(*entries: object) -> Answer:
    """A list of models."""
    return Answer(200, json.dumps({"data": entries}).encode())


def reason(found: object) -> str:
    """Why nothing was adopted."""
    assert isinstance(found, Finding)
    assert not found.verdict.is_ready
    assert found.verdict.served is None
    return found.verdict.reason


@pytest.mark.parametrize(
    ("engine", "context"), [("vllm", 32_768), ("sglang", 262_144), ("llamacpp", None)]
)
def test_real_lists_name_one_model(engine, context):
    """VLLM and SGLang say their context beside the model; llama.cpp says it elsewhere."""
    assert read_named(page(f"{engine}-models")) == Named("tiny", context)


def test_a_real_llamacpp_tells_its_context_on_its_own_page():
    """`/props` has the context of one slot, and the model's alias to compare."""
    assert read_props(page("llamacpp-props"), "tiny") == 65_536
    wrong = read_props(page("llamacpp-props"), "other")
    assert reason(wrong) == "upstream_metadata_identity_mismatch"


@pytest.mark.parametrize("key", ["max_model_len", "max_context_length", "context_length"])
def test_each_spelling_of_the_context_is_known(key):
    """Engines call it differently."""
    assert read_named(models({"id": "m", key: 7})) == Named("m", 7)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (models(), "upstream_metadata_model_count"),
        (models({"id": "a"}, {"id": "b"}), "upstream_metadata_model_count"),
        (models({"id": ""}), "upstream_metadata_model_invalid"),
        (models({"id": "/models/private"}), "upstream_metadata_model_invalid"),
        (models({"id": "two words"}), "upstream_metadata_model_invalid"),
        (models({"id": "m\n"}), "upstream_metadata_model_invalid"),
        (models({"id": "m" * 257}), "upstream_metadata_model_invalid"),
        (models({"id": "m", "max_model_len": "big"}), "identity_malformed"),
        (models({"id": 5}), "identity_malformed"),
        (Answer(200, b"[" * 100_000), "identity_malformed"),
        (Answer(200, b"\xff"), "identity_malformed"),
        (Answer(200, None), "identity_oversized"),
        (Answer(404, b"{}"), "identity_http_404"),
        (Silence.BROKEN, "identity_transport"),
    ],
)
def test_an_answer_that_leaves_anything_open_is_refused(said, why):
    """Not exactly one model with a plain public name: nothing is adopted."""
    assert reason(read_named(said)) == why


@pytest.mark.parametrize(
    ("said", "context"),
    [
        (Answer(404, b""), None),
        (Answer(200, b"{}"), None),
        (Answer(200, b'{"default_generation_settings":{}}'), None),
        (Answer(200, b'{"model_alias":"","default_generation_settings":{"n_ctx":5}}'), 5),
    ],
)
def test_a_page_may_lack_the_context(said, context):
    """Other engines have no such page, and some leave the number out."""
    assert read_props(said, "m") == context


def test_a_page_that_cannot_be_read_is_no_context():
    """Broken text and silence are faults of their own."""
    assert reason(read_props(Answer(200, b"{"), "m")) == "identity_malformed"
    silent = read_props(Silence.TIMED_OUT, "m")
    assert isinstance(silent, Finding)
    assert silent.is_timeout


def test_what_is_whole_is_adopted():
    """Model and context together, as the verdict of a ready member."""
    assert judge_served("m", 4096, 4096).verdict == Verdict(
        is_ready=True,
        reason="upstream_metadata_passed",
        observed_model="m",
        served=Served("m", 4096),
    )


@pytest.mark.parametrize(
    ("context", "output", "why"),
    [
        (None, None, "upstream_metadata_context_missing"),
        (0, None, "upstream_metadata_context_missing"),
        (-1, None, "upstream_metadata_context_missing"),
        (2**53, None, "upstream_metadata_context_missing"),
        (4096, 4097, "upstream_metadata_output_limit_conflict"),
    ],
)
def test_a_context_that_does_not_fit_is_not_adopted(context, output, why):
    """Without a usable context, or with a configured output beyond it, the tier is not ready."""
    assert reason(judge_served("m", context, output)) == why


@given(st.binary(max_size=80))
def test_no_answer_raises(body):
    """Whatever an engine sends, there is a finding or a name."""
    assert isinstance(read_named(Answer(200, body)), Named | Finding)
    assert isinstance(read_props(Answer(200, body), "m"), int | Finding | None)
