"""The engine's answers beside chat: deterministic, in every shape, or refused."""

import json
import math
import struct
from base64 import b64decode
from itertools import pairwise

import pytest
import trio

from anvil_trio.demo.beside import PATHS, answer_beside
from anvil_trio.demo.chat import Refusal
from anvil_trio.demo.tones import SAMPLE_RATE, Sounded, pitch_of, tone_of
from anvil_trio.purpose.multipart import render_form
from anvil_trio.purpose.waves import with_wav_head
from tests.unit.demo.asgi import Call, engine

MODEL = "demo-model"


def asked(path: str, /, **fields: object) -> Sounded:
    """The answer to a good request."""
    body = json.dumps({"model": MODEL, **fields}).encode()
    answer = answer_beside(path, b"application/json", body, MODEL)
    assert isinstance(answer, Sounded), answer
    return answer


def embedded(**fields: object):
    """The reply to a good request for embeddings."""
    return json.loads(asked("/v1/embeddings", **fields).pieces[0])


def heard(file: bytes, **fields: str) -> Sounded | Refusal:
    """The answer to a form with that file."""
    content_type, body = render_form({"model": MODEL, **fields}, "a.wav", "audio/wav", file)
    return answer_beside("/v1/audio/transcriptions", content_type, body, MODEL)


def test_equal_texts_have_equal_vectors_of_length_one():
    """Other texts have others; the counts add up."""
    reply = embedded(input=["a b", "a b", "c"])
    one, two, three = (each["embedding"] for each in reply["data"])
    assert one == two != three
    assert math.hypot(*one) == pytest.approx(1, abs=1e-6)
    assert [each["index"] for each in reply["data"]] == [0, 1, 2]
    assert reply["usage"] == {"prompt_tokens": 5, "total_tokens": 5}


def test_base64_says_the_same_as_numbers():
    """Single precision, little end first."""
    plain = embedded(input="a", dimensions=3)["data"][0]["embedding"]
    coded = embedded(input="a", dimensions=3, encoding_format="base64")["data"][0]["embedding"]
    assert list(struct.unpack("<3f", b64decode(coded))) == plain


@pytest.mark.parametrize(("given", "count"), [("a", 1), ([1, 2], 1), ([[1], [2, 3]], 2)])
def test_texts_and_tokens_are_taken(given, count):
    """A list of numbers is one input, a list of lists several."""
    assert len(embedded(input=given)["data"]) == count


def test_documents_are_ranked_by_shared_words():
    """The best first, equals in their order, at most `top_n`."""
    fields = {"query": "red cat", "documents": ["dog", "a red cat", "red"]}
    reply = json.loads(asked("/v1/rerank", **fields).pieces[0])
    assert [each["index"] for each in reply["results"]] == [1, 2, 0]
    assert [each["relevance_score"] for each in reply["results"]] == [1.0, 0.5, 0.0]
    short = json.loads(asked("/v1/rerank", **fields, top_n=1).pieces[0])
    assert len(short["results"]) == 1


def test_what_is_spoken_is_heard():
    """A tone's pitch survives the way through a WAV file, and texts differ in it."""
    pitches = [pitch_of(tone_of(text), SAMPLE_RATE) for text in ("one", "two", "three")]
    assert len(set(pitches)) > 1
    spoken = asked("/v1/audio/speech", input="one", voice="any")
    assert spoken.content_type == b"audio/wav"
    answer = heard(b"".join(spoken.pieces))
    assert isinstance(answer, Sounded)
    assert json.loads(answer.pieces[0]) == {"text": f"A tone of {pitches[0]} hertz."}


def test_raw_samples_come_in_pieces():
    """`pcm` has no head; every piece holds whole samples."""
    spoken = asked("/v1/audio/speech", input="one", response_format="pcm")
    assert spoken.content_type == b"audio/pcm"
    assert len(spoken.pieces) > 2
    assert all(len(piece) % 2 == 0 for piece in spoken.pieces)
    assert b"".join(spoken.pieces) == tone_of("one")


def test_speech_comes_in_events_too():
    """Deltas that join to the sound, then the end."""
    spoken = asked("/v1/audio/speech", input="one", response_format="pcm", stream_format="sse")
    events = [json.loads(piece.removeprefix(b"data: ")) for piece in spoken.pieces]
    sound = b"".join(b64decode(event["audio"]) for event in events[:-1])
    assert (spoken.content_type, sound) == (b"text/event-stream", tone_of("one"))
    assert events[-1] == {"type": "speech.audio.done"}


def test_silence_has_no_pitch():
    """Zero hertz."""
    answer = heard(with_wav_head(bytes(200), 8000), response_format="text")
    assert answer == Sounded(b"text/plain", (b"A tone of 0 hertz.\n",))


def test_what_is_heard_comes_in_events_too():
    """Word by word, then the whole."""
    answer = heard(with_wav_head(bytes(200), 8000), stream="true")
    assert isinstance(answer, Sounded)
    events = [json.loads(piece.removeprefix(b"data: ")) for piece in answer.pieces]
    text = "".join(event["delta"] for event in events[:-1]).strip()
    assert events[-1] == {"type": "transcript.text.done", "text": text}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b"{}", 400)])
def test_what_is_no_request_is_refused(path, body, status):
    """400 in OpenAI's shape."""
    answer = answer_beside(path, b"application/json", body, MODEL)
    assert isinstance(answer, Refusal)
    assert answer.status == status


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/embeddings", {"input": "a"}),
        ("/v1/rerank", {"query": "a", "documents": ["a"]}),
        ("/v1/audio/speech", {"input": "a"}),
    ],
)
def test_another_model_is_not_here(path, fields):
    """404, as for chat."""
    body = json.dumps({"model": "other", **fields}).encode()
    answer = answer_beside(path, b"", body, MODEL)
    assert isinstance(answer, Refusal)
    assert answer.status == 404


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"input": []}, 400), ({"input": "a", "dimensions": -1}, 400)],
)
def test_odd_embeddings_are_refused(fields, status):
    """Nothing to embed, or no room for it."""
    body = json.dumps({"model": MODEL, **fields}).encode()
    answer = answer_beside("/v1/embeddings", b"", body, MODEL)
    assert isinstance(answer, Refusal)
    assert answer.status == status


@pytest.mark.parametrize("file", [b"RIFF", b""])
def test_what_is_no_wav_file_is_not_heard(file):
    """400."""
    answer = heard(file)
    assert isinstance(answer, Refusal)
    assert answer.status == 400


def test_a_form_for_another_model_is_not_heard():
    """404."""
    content_type, body = render_form({"model": "other"}, "a.wav", "audio/wav", b"")
    answer = answer_beside("/v1/audio/translations", content_type, body, MODEL)
    assert isinstance(answer, Refusal)
    assert answer.status == 404


async def test_the_engine_takes_its_time(autojump_clock):
    """One token's time for each piece, in a slot, which is free again afterwards."""
    one = engine()
    body = json.dumps({"model": MODEL, "input": "x", "response_format": "pcm"}).encode()
    call = Call(one, "POST", "/v1/audio/speech", body)
    call.incoming.append({"type": "http.request", "body": b"", "more_body": False})
    await call.run()
    assert (call.status, call.body) == (200, tone_of("x"))
    parts = [message for message in call.sent[1:] if message["body"]]
    assert trio.current_time() == pytest.approx(len(parts) / 100)
    assert (one.slots.running, one.slots.finished) == (0, 1)
    assert all(earlier["more_body"] for earlier, _ in pairwise(call.sent[1:]))


async def test_the_engine_refuses_as_its_answers_do(autojump_clock):
    """400 for no JSON; a client that leaves is not answered."""
    refused = await Call(engine(), "POST", "/v1/embeddings", b"{").run()
    assert refused.status == 400
    gone = Call(engine(), "POST", "/v1/embeddings")
    gone.incoming.clear()
    assert not (await gone.run()).sent
