"""What services refuse, and how a failing engine is told."""

import pytest

from anvil_trio.config.model import ServerSettings
from tests.purpose.bodies import (
    GOOD,
    KIND,
    PATHS,
    embedding,
    form,
    named_hearing,
    named_speech,
    rerank,
    speech,
)
from tests.purpose.stage import open_stage, service_config
from tests.support.asgi import request
from tests.support.fake_upstream import (
    BROKEN_WRITE,
    REFUSED,
    STALLED_CONNECT,
    Fault,
    Reply,
    reply,
)
from tests.support.small_house import config_of

# names


@pytest.mark.parametrize(
    ("kind", "asked", "code", "names"),
    [
        ("embeddings", embedding("nobody"), "model_not_found", "embed.main"),
        ("embeddings", embedding("EMBED.main"), "model_not_found", "embed.main"),
        ("rerank", rerank("embed.main"), "model_not_found", "rank.main"),
        ("transcriptions", form(b"served-stt"), "model_not_found", "stt.main"),
        ("speech", speech("stt.main"), "model_not_found", "tts.main.one"),
        ("named_speech", named_speech(route="x", purpose=...), "route_not_found", "tts.main.one"),
    ],
)
async def test_an_unknown_name_is_told_the_known_ones(kind, asked, code, names, autojump_clock):
    """404, no engine is asked, and the record does not keep the name."""
    async with open_stage() as stage:
        answer = await stage.ask(kind, asked)
        assert (answer.status, answer.code) == (404, code)
        assert answer.json["error"]["message"].endswith(f"those that do: {names}.")
        assert not stage.engine(kind).attempts
        (record,) = stage.small.records
        assert (record.route, record.workload_outcome) == ("unknown_model", "rejected")


@pytest.mark.parametrize("kind", PATHS)
async def test_a_path_without_services_is_not_there(kind, autojump_clock):
    """404 like any other path, and no record."""
    async with open_stage(config_of()) as stage:
        answer = await stage.ask(kind)
        assert (answer.status, answer.code, stage.small.records) == (404, "not_found", [])


@pytest.mark.parametrize("path", sorted(set(PATHS.values())))
async def test_only_post_is_taken(path, autojump_clock):
    """405 with the method that is."""
    async with open_stage() as stage:
        answer = await request(stage.app, "GET", path)
        assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")


# what is refused


@pytest.mark.parametrize(
    ("kind", "asked", "param"),
    [
        ("embeddings", (b"application/json", b"["), None),
        ("embeddings", (b"application/json", b'{"model":"\xff","input":"x"}'), None),
        ("embeddings", embedding(given=""), "input"),
        ("embeddings", embedding(given=[]), "input"),
        ("embeddings", embedding(given=7), "input"),
        ("embeddings", embedding(model=7), "model"),
        ("embeddings", embedding(model=...), "model"),
        (
            "embeddings",
            (b"application/json", b'{"model":"embed.main","model":"other","input":"x"}'),
            "model",
        ),
        ("rerank", rerank(documents=[]), "documents"),
        ("rerank", rerank(documents="x"), "documents"),
        ("rerank", rerank(query=""), "query"),
        ("rerank", rerank(model=None), "model"),
        ("transcriptions", (b"multipart/form-data", b"x"), None),
        ("transcriptions", (form()[0], form()[1][:-4]), None),
        ("transcriptions", form(None), "model"),
        ("transcriptions", form(b""), "model"),
        ("transcriptions", form(b"\xff"), "model"),
        (
            "transcriptions",
            (form()[0], form()[1].replace(b'name="file"', b'name="elif"')),
            "file",
        ),
        ("named_transcriptions", named_hearing(audio_b64="%"), "audio_b64"),
        ("named_transcriptions", named_hearing(audio_b64=""), "audio_b64"),
        ("named_transcriptions", named_hearing(format="mp3"), "format"),
        ("named_transcriptions", named_hearing(format=...), "format"),
        ("named_transcriptions", named_hearing(sample_rate=8000), "sample_rate"),
        ("named_transcriptions", named_hearing(format="pcm16"), "sample_rate"),
        ("named_transcriptions", named_hearing(format="pcm16", sample_rate=7999), "sample_rate"),
        (
            "named_transcriptions",
            named_hearing(format="pcm16", sample_rate=8000, audio_b64="AAAA"),
            "audio_b64",
        ),
        ("named_transcriptions", named_hearing(is_final="yes"), "is_final"),
        ("named_transcriptions", named_hearing(is_final=...), "is_final"),
        ("named_transcriptions", named_hearing(route="stt.main"), "route"),
        ("named_transcriptions", named_hearing(purpose="tts"), "purpose"),
        ("named_transcriptions", named_hearing(more=1), None),
        ("speech", (b"application/json", b"7"), None),
        ("speech", speech(input=""), "input"),
        ("speech", speech(stream_format="wav"), "stream_format"),
        ("speech", speech(model=7), "model"),
        ("named_speech", named_speech(response_format="mp3"), "response_format"),
        ("named_speech", named_speech(voice=7), "voice"),
        ("named_speech", named_speech(purpose=...), "route"),
        ("named_speech", named_speech(more=1), None),
    ],
)
async def test_a_wrong_request_is_refused_before_any_engine(kind, asked, param, autojump_clock):
    """400 in fixed words that name the field, and a record of the refusal."""
    async with open_stage() as stage:
        answer = await stage.ask(kind, asked)
        assert (answer.status, answer.code) == (400, "invalid_request"), answer.body
        assert answer.json["error"]["param"] == param
        assert not stage.engine(kind).attempts
        (record,) = stage.small.records
        assert (record.kind, record.workload_outcome) == (KIND[kind], "rejected")


async def test_audio_that_goes_on_is_not_taken(autojump_clock):
    """422 with a code of its own."""
    async with open_stage() as stage:
        answer = await stage.ask("named_transcriptions", named_hearing(is_final=False))
        assert (answer.status, answer.code) == (422, "unsupported_audio_mode")


SMALL = {
    "audio_max_input_bytes": 1024,
    "audio_max_output_bytes": 1024,
    "audio_max_text_chars": 1024,
}


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("transcriptions", form(file=b"x" * 1025)),
        ("transcriptions", form(file=b"x" * 70_000)),
        ("named_transcriptions", named_hearing(audio_b64="AAAA" * 342)),
        ("named_transcriptions", named_hearing(audio_b64="AAAA" * 20_000)),
        ("speech", speech(input="é" * 1025)),
        ("named_speech", named_speech(input="x" * 90_000)),
        ("embeddings", embedding(given="x" * 2048)),
    ],
)
async def test_what_is_too_large_is_413(kind, asked, autojump_clock):
    """Audio, text, and the body round them; a purpose model has the house's own bound."""
    async with open_stage(service_config(ServerSettings(max_body_bytes=2048), **SMALL)) as stage:
        answer = await stage.ask(kind, asked)
        assert (answer.status, answer.code) == (413, "payload_too_large")
        assert not stage.engine(kind).attempts


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("transcriptions", form(file=b"x" * 1024)),
        ("named_transcriptions", named_hearing(audio_b64="AAAA" * 341)),
        ("speech", speech(input="é" * 1024)),
        ("named_speech", named_speech(input="x" * 1024)),
    ],
)
async def test_what_just_fits_is_taken(kind, asked, autojump_clock):
    """The bounds themselves are allowed."""
    async with open_stage(service_config(**SMALL)) as stage:
        stage.answers(kind, GOOD[kind])
        assert (await stage.ask(kind, asked)).status == 200


# what engines do

ERROR_IN_200 = reply(b'{"error": {"message": "secret", "code": 429}}')


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        *((reply(b'{"error":"secret"}', status=code), code) for code in (400, 413, 415, 422, 429)),
        *((reply(b"secret", status=code), 502) for code in (302, 401, 403, 404, 500, 502)),
        (reply(b"", status=503), 503),
        (REFUSED, 502),
        (BROKEN_WRITE, 502),
        (STALLED_CONNECT, 504),
        (Reply((Fault.STALL,)), 504),
        (Reply((Fault.RESET,)), 502),
        (reply(b"<html>", headers=((b"content-type", b"text/html"),)), 502),
        (ERROR_IN_200, 429),
        (reply(b"{}"), 502),
        (reply(b"{"), 502),
    ],
)
async def test_a_failing_engine_is_told_in_fixed_words(kind, answer, status, autojump_clock):
    """Every service: one attempt, our own words, an error in the record."""
    async with open_stage() as stage:
        stage.answers(kind, answer)
        got = await stage.ask(kind)
        if answer is ERROR_IN_200 and KIND[kind] == "tts":
            status = 502  # JSON is no answer to a request for audio
        assert got.status == status, got.body
        assert b"secret" not in got.body
        (record,) = stage.small.records
        assert [one.reason for one in record.attempts] == ["backend_error"]
        assert stage.engine(kind).attempts == 1
        assert record.workload_outcome == ("timeout" if status == 504 else "error")
