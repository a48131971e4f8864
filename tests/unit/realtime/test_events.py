"""The model's name in a session's messages, and our own error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.errors import Code, problem
from anvil_trio.realtime.events import Names, error_event

NAMES = Names("llm.primary", "org/served")


@pytest.mark.parametrize("carrier", ["session", "response"])
def test_the_name_changes_and_nothing_else(carrier):
    """Both ways, and not a blank besides."""
    said = '{ "type" : "x",\n "%s" : {"model": "%s" , "n": 1.50, "é": "ü"} }'
    there = NAMES.to_engine(said % (carrier, "llm.primary"))
    assert there == said % (carrier, "org/served")
    assert NAMES.to_client(there) == said % (carrier, "llm.primary")


def test_whichever_model_a_client_names_is_its_sessions():
    """R001: an alias means one tier, and no other model of its engine."""
    said = '{"type":"session.update","session":{"model":"another"}}'
    assert NAMES.to_engine(said) == said.replace("another", "org/served")


def test_a_model_that_the_engine_names_is_never_shown():
    """Also where it is not the one that is configured."""
    said = '{"type":"session.created","session":{"model":"family/weights-v2"}}'
    assert NAMES.to_client(said) == said.replace("family/weights-v2", "llm.primary")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hello",
        '"model"',
        '{"session":{"model":"a"}',
        '{"session":{"model":"a"}} and more',
        '{"model":"a"}',
        '{"session":{"audio":{"transcription":{"model":"whisper-1"}}}}',
        '{"item":{"model":"a"},"session":[{"model":"a"}],"response":{"model":null}}',
        '["model",{"session":{"model":"a"}}]',
        '{"type":"x","delta":"the \\u006dodel"}',
        '{"session":{"mod\\el":"a"}}',
        "[" * 100_000 + '"model"',
        '{"x":' * 5_000 + '"model"' + "}" * 5_000,
    ],
)
def test_everything_else_is_handed_on_as_it_came(said):
    """What is no JSON, and models that are not the session's own."""
    assert NAMES.to_engine(said) == said
    assert NAMES.to_client(said) == said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('{"sess\\u0069on":{"m\\u006fdel":"a"}}', '{"sess\\u0069on":{"m\\u006fdel":"org/served"}}'),
        (
            '{"session":{"model":"a","instructions":"\\ud800"}}',
            '{"session":{"model":"org/served","instructions":"\\ud800"}}',
        ),
        (
            '{"session":{"model":"a"},"session":{"model":"b"}}',
            '{"session":{"model":"org/served"},"session":{"model":"org/served"}}',
        ),
    ],
)
def test_no_spelling_hides_a_name(said, expected):
    """Escaped, given twice, or beside half a surrogate pair, which only some readers take."""
    assert NAMES.to_engine(said) == expected


@given(st.text(), st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_is_handed_on(said, name):
    """No message breaks the session."""
    json_like = json.dumps({"session": {"model": name, "x": said}})
    for message in (said.encode("utf-8", "replace").decode(), json_like):
        assert isinstance(NAMES.to_engine(message), str)
    assert json.loads(NAMES.to_engine(json_like))["session"] == {"model": "org/served", "x": said}


def test_our_error_has_the_protocols_shape():
    """The type, code and words of the problem, and an id of its own."""
    event = json.loads(error_event(problem(Code.UPSTREAM_ERROR, param="model"), "req_1"))
    assert event == {
        "type": "error",
        "event_id": "event_req_1",
        "error": {
            "type": "api_error",
            "code": "upstream_error",
            "message": "The model's answer could not be used.",
            "param": "model",
            "event_id": None,
        },
    }
