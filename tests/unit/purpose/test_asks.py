"""What is left to say of single requests, without a router round them."""

import json

import pytest

from anvil_trio.errors import Problem
from anvil_trio.purpose.asks import Finished, Told
from anvil_trio.purpose.hearing import Hearing, parse_hearing_form, parse_hearing_json
from anvil_trio.purpose.sizes import Sizes
from anvil_trio.purpose.speaking import NamedSpeech, Speech, parse_speech
from anvil_trio.purpose.texts import TextAsk, parse_embedding, parse_rerank
from tests.purpose.bodies import ask_of, embedding, form, named_speech, speech

SIZES = Sizes(2**20, 4096, 4096, 4096)
TOLD = Told("name", "req_1", 5, 24_000)


def test_a_model_may_be_called_otherwise_upstream():
    """Then its name is written where it stands."""
    ask = parse_embedding(embedding()[1])
    assert isinstance(ask, TextAsk)
    assert json.loads(ask.outgoing("served").body)["model"] == "served"


@pytest.mark.parametrize("body", [b"[", b"7", b"[" * 100_000, b'{"a":1e999}'])
def test_what_is_no_object_is_refused_by_every_parser(body):
    """Never an exception."""
    for parse in (
        parse_embedding,
        parse_rerank,
        lambda data: parse_speech(data, SIZES),
        lambda data: parse_hearing_json(data, SIZES, "audio/transcriptions"),
    ):
        found = parse(body)
        assert isinstance(found, Problem)
        assert found.status == 400


def test_half_a_character_is_no_text():
    """A lone surrogate makes the body no JSON."""
    found = parse_embedding(b'{"model":"\\ud800","input":"x"}')
    assert isinstance(found, Problem)
    assert found.param is None


@pytest.mark.parametrize("asked", [speech, named_speech])
def test_the_characters_of_a_text_are_counted(asked):
    """Not its bytes; one more than may be spoken is 413."""
    fits = parse_speech(asked(input="é" * SIZES.max_text_chars)[1], SIZES)
    assert not isinstance(fits, Problem)
    found = parse_speech(asked(input="é" * (SIZES.max_text_chars + 1))[1], SIZES)
    assert isinstance(found, Problem)
    assert found.status == 413


def test_a_voice_is_passed_on():
    """Many engines want one."""
    ask = parse_speech(named_speech(voice="alloy")[1], SIZES)
    assert isinstance(ask, NamedSpeech)
    assert json.loads(ask.outgoing("m").body)["voice"] == "alloy"


@pytest.mark.parametrize("body", [b"", b"abc"])
def test_half_a_sample_is_no_reply(body):
    """Nor is nothing at all."""
    ask = parse_speech(named_speech()[1], SIZES)
    assert isinstance(ask, NamedSpeech)
    assert ask.finish("audio/pcm", body, TOLD) is None


def test_speech_is_never_read_whole():
    """There is nothing to be made of a whole reply."""
    ask = parse_speech(ask_of("speech")[1], SIZES)
    assert isinstance(ask, Speech)
    assert ask.finish("audio/pcm", b"ab", TOLD) is None


def test_two_models_in_a_form_are_refused():
    """Nobody shall read another one than we did."""
    content_type, body = form(model=b"a")
    twice = body.replace(b'name="file"', b'name="model"', 1)
    for data in (twice, body.replace(b'filename="s', b'name2="s')):
        found = parse_hearing_form(content_type, data, SIZES, "audio/transcriptions")
        assert isinstance(found, Problem) == (data is twice)


def test_an_empty_model_beside_a_good_one_is_refused():
    """Given twice is given twice."""
    content_type, body = form(model=b"a", x="")
    data = body.replace(b'name="x"', b'name="model"')
    found = parse_hearing_form(content_type, data, SIZES, "audio/transcriptions")
    assert isinstance(found, Problem)
    assert found.param == "model"


@pytest.mark.parametrize(
    ("said", "wants_events"), [("true", True), ("1", True), (" False ", False), ("0", False)]
)
def test_a_form_may_ask_for_events(said, wants_events):
    """By any word but those for no."""
    content_type, body = form(stream=said)
    ask = parse_hearing_form(content_type, body, SIZES, "audio/transcriptions")
    assert isinstance(ask, Hearing)
    assert ask.wants_events == wants_events


def test_a_finished_reply_hides_its_body():
    """R012: what was heard is in no repr, nor is what was said."""
    ask = parse_speech(ask_of("named_speech")[1], SIZES)
    assert isinstance(ask, NamedSpeech)
    assert "say it" not in repr(ask) + repr(ask.outgoing("m"))
    assert "secret" not in repr(Finished(b"text/plain", b"secret"))
