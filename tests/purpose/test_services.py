"""Services beside chat, through the whole application: what goes up, what comes back."""

import json
from base64 import b64decode

import pytest

from tests.purpose.bodies import (
    GOOD,
    KIND,
    PATHS,
    SOUND,
    ask_of,
    form,
    named_hearing,
)
from tests.purpose.stage import SERVICE, open_stage
from tests.support.asgi import BEARER
from tests.support.fake_upstream import (
    END,
    SSE,
    Head,
    Reply,
    reply,
)


@pytest.mark.parametrize("kind", PATHS)
async def test_each_request_is_one_attempt_and_one_record(kind, autojump_clock):
    """A good answer, the ids of every reply, the engine's own key, and a record of its kind."""
    async with open_stage() as stage:
        stage.answers(kind, GOOD[kind])
        answer = await stage.ask(kind)
        assert answer.status == 200, answer.body
        assert answer.is_over
        assert answer.headers[b"cache-control"] == b"no-store"
        call = stage.call(kind)
        (record,) = stage.small.records
        assert (record.kind, record.route) == (KIND[kind], KIND[kind])
        assert (record.requested_tier, record.served_tier) == (SERVICE[kind], SERVICE[kind])
        assert [attempt.reason for attempt in record.attempts] == ["served"]
        assert record.workload_outcome == "success"
        assert record.request_bytes == len(ask_of(kind)[1])
        assert record.response_bytes == len(answer.body)
        request_id = answer.headers[b"x-anvil-request-id"].decode()
        assert record.gateway_request_id == request_id
        assert call.request.headers["x-request-id"] == request_id
        assert call.request.headers["authorization"] == "Bearer upstream-key"
        assert call.request.headers["accept-encoding"] == "identity"
        assert BEARER[1].decode() not in str(call.request.headers)


async def test_an_embedding_request_goes_up_byte_for_byte(autojump_clock):
    """Odd spacing, absent fields, base64, token arrays, lists of 2,048: nothing is written anew."""
    given = (
        b' {"input" :[[1, 2],[3]],\n "model":"embed.main" , "encoding_format":"base64"}\n',
        json.dumps({"model": "embed.main", "input": ["w" * 9] * 2048}).encode(),
        b'{"model":"embed\\u002emain","input":"x","dimensions":3,"unknown":{"model":"other"}}',
        b'{"model":"embed.main","input":[1,2,3]}',
    )
    async with open_stage() as stage:
        for body in given:
            stage.answers("embeddings", GOOD["embeddings"])
            answer = await stage.ask("embeddings", (b"application/json", body))
            assert answer.status == 200
            call = stage.engine("embeddings").calls[-1]
            assert call.body == body
            assert call.request.url == "http://embed.main.test/v1/embeddings"
            good = GOOD["embeddings"].steps[1]
            assert answer.body == good


async def test_a_reply_names_the_model_that_was_asked_for(autojump_clock):
    """Decision 10: another name is replaced where it stands, the other bytes stay; usage counts."""
    body = b'{ "data":[{"model":"kept"}],"model" : "file.gguf", "usage":{"prompt_tokens":7}}'
    async with open_stage() as stage:
        stage.answers("embeddings", reply(body))
        answer = await stage.ask("embeddings")
        assert answer.body == body.replace(b'"file.gguf"', b'"embed.main"')
        (record,) = stage.small.records
        assert (record.total_prompt_tokens, record.prompt_tokens_source) == (7, "upstream")


async def test_a_bare_list_is_an_order_of_documents(autojump_clock):
    """Some engines rank without an object round the results; for embeddings that is no reply."""
    async with open_stage() as stage:
        stage.answers("rerank", reply(b'[{"index": 0, "score": 0.5}]'))
        stage.answers("embeddings", reply(b'[{"embedding": [0.5]}]'))
        assert (await stage.ask("rerank")).body == b'[{"index": 0, "score": 0.5}]'
        assert (await stage.ask("embeddings")).status == 502


async def test_a_form_goes_up_with_another_model_only(autojump_clock):
    """The model part stands last and is rewritten; file, UTF-8 name and boundary stay."""
    content_type, body = form(file=b"RIFF--b--\r\n--b-", language="en")
    async with open_stage() as stage:
        stage.answers("translations", GOOD["translations"])
        answer = await stage.ask("translations", (content_type, body))
        assert answer.json == {"text": "heard"}
        call = stage.call("translations")
        assert call.body == body.replace(b"\r\n\r\nstt.main\r\n", b"\r\n\r\nserved-stt\r\n")
        assert call.request.headers["content-type"] == "multipart/form-data; boundary=b--1"
        assert call.request.url.path == "/v1/audio/translations"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"text/plain", b"text/plain; charset=utf-8"),
        (b"text/vtt; charset=latin-1", b"text/vtt; charset=utf-8"),
        (b"application/x-subrip", b"application/x-subrip; charset=utf-8"),
    ],
)
async def test_text_and_subtitles_come_back_as_they_are(said, told, autojump_clock):
    """Where the caller asked for another format than JSON."""
    async with open_stage() as stage:
        stage.answers("transcriptions", reply(b"1\nheard\n", headers=((b"content-type", said),)))
        answer = await stage.ask("transcriptions")
        assert (answer.body, answer.headers[b"content-type"]) == (b"1\nheard\n", told)


async def test_named_audio_is_heard_in_json(autojump_clock):
    """The form that is made of it, and what comes back of its length, name and time."""
    async with open_stage() as stage:
        stage.answers("named_transcriptions", reply(b'{"text": "heard"}', after_s=1.5))
        answer = await stage.ask("named_transcriptions")
        assert answer.json == {
            "text": "heard",
            "is_final": True,
            "duration_ms": 50,
            "model": "stt.main",
            "request_id": answer.headers[b"x-anvil-request-id"].decode(),
            "latency_ms": 1500,
        }
        call = stage.call("named_transcriptions")
        assert SOUND in call.body
        for part in (b'name="model"\r\n\r\nserved-stt\r\n', b'filename="audio.wav"'):
            assert part in call.body


async def test_raw_samples_are_heard_as_a_wav_file(autojump_clock):
    """pcm16 gets the head that its engine needs."""
    asked = named_hearing(format="pcm16", audio_b64="AAAA" * 4, sample_rate=8000, route="stt.main")
    asked = (asked[0], asked[1].replace(b'"purpose": "stt", ', b""))
    async with open_stage() as stage:
        stage.answers("transcriptions", GOOD["transcriptions"])
        answer = await stage.ask("named_transcriptions", asked)
        assert answer.json["duration_ms"] == 1  # 6 samples
        assert b"RIFF" in stage.call("transcriptions").body


async def test_named_speech_is_json(autojump_clock):
    """Raw samples are asked for, and come back in base64 with the rate of the route."""
    async with open_stage() as stage:
        stage.answers("named_speech", GOOD["named_speech"])
        answer = await stage.ask("named_speech")
        assert b64decode(answer.json.pop("audio_b64")) == b"\x01\x02\x03\x04"
        assert (
            answer.json.items()
            >= {
                "format": "pcm16",
                "sample_rate": 24000,
                "model": "tts.main.one",
            }.items()
        )
        assert json.loads(stage.call("named_speech").body) == {
            "model": "served-tts",
            "input": "say it",
            "response_format": "pcm",
        }


async def test_speech_comes_as_it_is_made(autojump_clock):
    """The first bytes are sent while the engine still speaks; the model alone is rewritten."""
    asked = (b"application/json", b'{ "input":"say it","model":"tts.main.one" ,"speed":1.50}')
    kind = ((b"content-type", b"audio/L16; rate=24000;x=1"), (b"content-length", b"4"))
    async with open_stage() as stage:
        stage.answers("speech", Reply((Head(200, kind), b"\x01\x02", 5.0, b"\x03\x04", END)))
        answer = await stage.ask("speech", asked)
        assert answer.body == b"\x01\x02\x03\x04"
        assert answer.headers[b"content-type"] == b"audio/l16;rate=24000"
        assert answer.headers[b"content-length"] == b"4"
        assert stage.call("speech").body == asked[1].replace(b"tts.main.one", b"served-tts")
        (record,) = stage.small.records
        assert (record.time_to_first_content_ms, record.latency_ms) == (0, 5000)


@pytest.mark.parametrize("kind", ["transcription_events", "speech_events"])
async def test_events_are_handed_on_one_by_one(kind, autojump_clock):
    """Comments are left out, a served name is replaced, names of events and `[DONE]` stay."""
    first = b': hm\n\nevent: a.b\ndata: {"type":"a.b","model":"served"}\n\n'
    async with open_stage() as stage:
        steps = (first[:20], first[20:], 3.0, b"data: [DONE]\n\n")
        stage.answers(kind, Reply((Head(200, SSE), *steps, END)))
        answer = await stage.ask(kind)
        expected = f'event: a.b\ndata: {{"type":"a.b","model":"{SERVICE[kind]}"}}\n\n'
        assert answer.body == expected.encode() + b"data: [DONE]\n\n"
        assert answer.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
        assert stage.call(kind).request.headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("kind", ["transcription_events", "speech_events"])
async def test_an_engine_without_events_answers_as_ever(kind, autojump_clock):
    """Events are asked for; what comes may be whole or audio."""
    plain = {"transcription_events": "transcriptions", "speech_events": "speech"}[kind]
    async with open_stage() as stage:
        stage.answers(kind, GOOD[plain])
        assert (await stage.ask(kind)).status == 200
