"""What a handshake says, and what of it is answered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.errors import Problem
from anvil_trio.realtime.handshake import (
    Wanted,
    credentials_in,
    is_beta,
    protocol_for,
    read_wanted,
)

KEY = "openai-insecure-api-key.sk-1.2"
BETA = "openai-beta.realtime-v1"


def test_a_key_among_the_protocols_is_a_bearer_token():
    """The way of browsers: `openai-insecure-api-key.KEY` says what a header would."""
    assert credentials_in(["realtime", KEY, BETA]) == [(b"authorization", b"Bearer sk-1.2")]
    assert credentials_in(["realtime", "sk-1.2", "x-" + KEY]) == []
    assert len(credentials_in([KEY, KEY + "3"])) == 2, "which of two is meant is not guessed"


def test_a_key_that_is_no_ascii_is_a_key():
    """It is not the right one, and no bug either."""
    assert credentials_in(["openai-insecure-api-key.ü"]) == [
        (b"authorization", "Bearer ü".encode())
    ]


@given(st.lists(st.text() | st.sampled_from(["realtime", KEY, BETA])))
def test_only_the_protocols_own_name_is_agreed_on(offered):
    """Whatever is offered, a key is never echoed."""
    agreed = protocol_for(offered)
    assert agreed in {None, "realtime"}
    assert (agreed is not None) == ("realtime" in offered)


@pytest.mark.parametrize(
    ("headers", "offered", "expected"),
    [
        ([], [], False),
        ([(b"openai-beta", b" realtime=v1 ")], [], True),
        ([(b"openai-beta", b"realtime=v2")], [], False),
        ([(b"x-openai-beta", b"realtime=v1")], ["realtime"], False),
        ([], ["realtime", BETA], True),
    ],
)
def test_the_first_version_is_recognised(headers, offered, expected):
    """By the header, or by the subprotocol, of OpenAI's older clients."""
    assert is_beta(headers, offered) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (b"model=llm.primary", Wanted("llm.primary")),
        (b"model=%20a%2Fb+c%20", Wanted("a/b c")),
        (b"intent=transcription&model=a", Wanted("a", "transcription")),
        (b"model=%C3%BC", Wanted("ü")),
    ],
)
def test_what_is_asked_for_is_read(query, expected):
    """The model, unquoted and without blanks around it, and the intent."""
    assert read_wanted(query) == expected


@pytest.mark.parametrize(
    ("query", "param"),
    [
        (b"", "model"),
        (b"model=", "model"),
        (b"model=%20", "model"),
        (b"intent=transcription", "model"),
        (b"model=a&model=b", None),
        (b"model=a&api-key=secret", None),
        (b"model=a&call_id=1", None),
        (b"model=a&intent=Transcribe%20this", "intent"),
        (b"model=a&intent=", "intent"),
        (b"model=%ff", None),
        (b"model=\xff", None),
        (b"model", None),
        (b"&".join([b"model=a"] * 9), None),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(query, param):
    """A 400 that names the parameter, and shows nothing of what was said."""
    refused = read_wanted(query)
    assert isinstance(refused, Problem)
    assert (refused.status, refused.code, refused.param) == (400, "invalid_request", param)
    assert "secret" not in refused.message
