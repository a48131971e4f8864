"""However a request to a service ends: what is given back, when, and what is said of it."""

import json

import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.names import ClientId
from tests.purpose.bodies import GOOD, PATHS, embedding
from tests.purpose.stage import open_stage, service_config
from tests.support.asgi import BEARER, Answer, Side, request
from tests.support.chunks import good_reply
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import END, SSE, STALLED_CONNECT, Fault, Head, Reply, Step, reply
from tests.support.small_house import audio_route, embedding_model

AUDIO = ((b"content-type", b"audio/pcm"),)
STREAMED = ("speech", "transcription_events", "speech_events")
PIECE = b'data: {"type":"a"}\n\n'


def started(kind: str) -> tuple[Head, bytes]:
    """How a streamed answer of that kind begins."""
    return (Head(200, AUDIO), b"\x01\x02") if kind == "speech" else (Head(200, SSE), PIECE)


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("phase", ["connecting", "waiting", "reading"])
async def test_a_caller_that_leaves_ends_the_engines_work_at_once(kind, phase, autojump_clock):
    """CAN-04's kind: the connection to the engine is closed in that very step, once."""
    answers = {
        "connecting": STALLED_CONNECT,
        "waiting": Reply((Fault.STALL,)),
        "reading": Reply((GOOD[kind].steps[0], GOOD[kind].steps[1], Fault.STALL)),
    }
    async with open_stage() as stage:
        stage.answers(kind, answers[phase])
        caller = FakeCaller()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, kind, caller)
            await trio.sleep(5)
            assert (await stage.small.house.admission.inspect()).active == 1
            caller.leave()
        assert trio.current_time() == caller.left_at
        (record,) = stage.small.records
        assert record.workload_outcome == "disconnected"
        assert [attempt.reason for attempt in record.attempts] == ["client_disconnected"]
        assert stage.engine(kind).attempts == 1


async def test_a_caller_that_leaves_while_it_sends_asks_no_engine(autojump_clock):
    """The body is still on its way."""
    async with open_stage() as stage:
        caller = FakeCaller(body_delay_s=30)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, "embeddings", caller)
            await trio.sleep(1)
            caller.leave()
        (record,) = stage.small.records
        assert (record.workload_outcome, record.attempts) == ("disconnected", ())


@pytest.mark.parametrize("kind", PATHS)
async def test_a_service_has_its_own_time(kind, autojump_clock):
    """Chat's deadlines are shorter and do not count: 504 after `timeout`, however it trickles."""
    server = ServerSettings(
        startup_timeout_s=1,
        idle_timeout_s=1,
        total_timeout_s=2,
        heartbeat_interval_s=1,
        admission_timeout_s=1,
    )
    config = service_config(server)
    async with open_stage(config) as stage:
        stage.answers(kind, Reply((Fault.STALL,)))
        caller = await stage.serve(kind, FakeCaller())
        assert trio.current_time() == 60
        assert caller.status == 504
        assert json.loads(caller.received)["error"]["code"] == "upstream_timeout"
        (record,) = stage.small.records
        assert record.workload_outcome == "timeout"


async def test_the_configured_time_is_in_all(autojump_clock):
    """It runs from the first byte written to the last one read, and is never started anew."""
    config = service_config().model_copy(update={"purpose_models": (embedding_model(timeout=7.5),)})
    async with open_stage(config) as stage:
        steps: list[Step] = [Head(200, ((b"content-type", b"application/json"),))]
        for _ in range(5):
            steps += [2.0, b" "]
        steps.append(END)
        stage.answers("embeddings", Reply(tuple(steps)))
        answer = await stage.ask("embeddings")
        assert (answer.status, answer.code) == (504, "upstream_timeout")
        assert trio.current_time() == 7.5


async def test_connecting_is_waiting_too(autojump_clock):
    """An engine that takes long to be reached has so much less to answer in."""
    async with open_stage() as stage:
        engine = stage.engine("embeddings")
        send = engine.send

        async def late(request, body):
            await trio.sleep(40)
            return await send(request, body)

        engine.send = late  # type: ignore[method-assign]
        stage.answers("embeddings", Reply((Fault.STALL,)))
        answer = await stage.ask("embeddings")
        assert (answer.status, answer.code) == (504, "upstream_timeout")
        assert trio.current_time() == pytest.approx(60, abs=0.01)


@pytest.mark.parametrize("kind", STREAMED)
async def test_a_slow_caller_is_not_charged_to_the_service(kind, autojump_clock):
    """While it does not read the service's time stands still; its own patience has an end."""
    head, piece = started(kind)
    async with open_stage() as stage:
        stage.answers(kind, Reply((head, piece, 30.0, piece, 29.0, END)))
        caller = FakeCaller()
        caller.stop_reading()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, kind, caller)
            await trio.sleep(50)
            caller.read_on()
        assert caller.has_ended
        assert caller.received == piece * 2
        (record,) = stage.small.records
        assert record.workload_outcome == "success"


@pytest.mark.parametrize("kind", STREAMED)
async def test_a_caller_that_does_not_read_is_given_up(kind, autojump_clock):
    """After `client_stall_timeout_s`, and the engine's connection with it."""
    head, piece = started(kind)
    async with open_stage() as stage:
        stage.answers(kind, Reply((head, piece, piece, Fault.STALL)))
        caller = FakeCaller()
        caller.stop_reading()
        await stage.serve(kind, caller)
        assert trio.current_time() == (60 if kind == "speech" else 61)  # its last words
        assert caller.has_ended == (kind != "speech"), "it must not look whole"
        assert (b'"error"' in caller.received) == (kind != "speech")
        (record,) = stage.small.records
        assert record.workload_outcome == "disconnected"


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CUT, Fault.STALL])
@pytest.mark.parametrize("kind", ["transcription_events", "speech_events"])
async def test_events_that_break_say_so(kind, fault, autojump_clock):
    """The last event is an error in our own words, after whole events only."""
    async with open_stage() as stage:
        stage.answers(kind, Reply((Head(200, SSE), PIECE, b'data: {"half', fault)))
        answer = await stage.ask(kind)
        assert answer.status == 200
        assert answer.is_over
        first, last = answer.body.strip().split(b"\n\n")
        assert first + b"\n\n" == PIECE
        code = "upstream_timeout" if fault is Fault.STALL else "upstream_error"
        assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == code
        (record,) = stage.small.records
        assert [attempt.reason for attempt in record.attempts] == ["backend_error"]


@pytest.mark.parametrize(
    "last",
    [
        b'data: {"error": {"message": "secret"}}\n\n',
        b'event: error\ndata: {"message": "secret"}\n\n',
        b'data: {"type": "error", "message": "secret"}\n\n',
        b"data: {secret\n\n",
        b"data: [1]\n\n",
        b'data: {"half": "secr',
        b"data: " + b"x" * 5000,
    ],
)
async def test_what_is_no_good_event_is_never_handed_on(last, autojump_clock):
    """R012: an engine's error, broken or endless event ends the stream in fixed words."""
    config = service_config(ServerSettings(max_event_bytes=4096))
    async with open_stage(config) as stage:
        stage.answers("speech_events", Reply((Head(200, SSE), PIECE + last, PIECE, END)))
        answer = await stage.ask("speech_events")
        assert answer.body.startswith(PIECE)
        assert answer.body.count(b"data: ") == 2
        assert b'"code":"upstream_error"' in answer.body
        assert b"secr" not in answer.body


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CUT, Fault.STALL])
async def test_audio_that_breaks_has_no_end(fault, autojump_clock):
    """Bytes have no words for it: the reply is left open, and its connection ends."""
    async with open_stage() as stage:
        stage.answers("speech", Reply((Head(200, AUDIO), b"\x01\x02", fault)))
        answer = await stage.ask("speech")
        assert (answer.status, answer.body, answer.is_over) == (200, b"\x01\x02", False)
        (record,) = stage.small.records
        assert [attempt.reason for attempt in record.attempts] == ["backend_error"]


async def test_too_much_audio_is_a_failure(autojump_clock):
    """502 where it is announced; else the reply breaks at the bound."""
    config = service_config(audio_max_output_bytes=1024)
    announced = (*AUDIO, (b"content-length", b"1025"))
    async with open_stage(config) as stage:
        stage.answers("speech", Reply((Head(200, announced), b"x" * 1025, END)))
        assert (await stage.ask("speech")).status == 502
        stage.answers("speech", Reply((Head(200, AUDIO), b"x" * 1024, b"x", END)))
        answer = await stage.ask("speech")
        assert (len(answer.body), answer.is_over) == (1024, False)
        stage.answers("named_speech", Reply((Head(200, AUDIO), b"x" * 1026, END)))
        assert (await stage.ask("named_speech")).status == 502
        stage.answers("speech", Reply((Head(200, AUDIO), b"x" * 1024, END)))
        assert (await stage.ask("speech")).is_over


async def test_a_reply_above_the_houses_bound_is_a_failure(autojump_clock):
    """Embeddings are bounded as bodies are."""
    async with open_stage(service_config(ServerSettings(max_body_bytes=1024))) as stage:
        stage.answers("embeddings", reply(b'{"data":[]' + b" " * 1013 + b"}"))
        assert (await stage.ask("embeddings")).status == 200
        stage.answers("embeddings", reply(b'{"data":[]' + b" " * 1014 + b"}"))
        assert (await stage.ask("embeddings")).status == 502


async def test_an_error_that_breaks_off_is_known_by_its_status(autojump_clock):
    """Its body would not have been shown anyway; one without end is not read to its end."""
    async with open_stage() as stage:
        head = Head(429, ((b"retry-after", b"7"),))
        for rest in ((b"x", Fault.RESET), (b"x" * 70_000, Fault.STALL)):
            stage.answers("embeddings", Reply((head, *rest)))
            answer = await stage.ask("embeddings")
            assert (answer.status, answer.headers[b"retry-after"]) == (429, b"7")
        assert trio.current_time() == 0


async def test_a_prompt_that_is_too_long_is_told_so(autojump_clock):
    """400 `context_length_exceeded`, in the field of this request."""
    words = b'{"error":{"message":"too long","code":"context_length_exceeded"}}'
    async with open_stage() as stage:
        for kind, param in (("embeddings", "input"), ("rerank", "documents")):
            stage.answers(kind, reply(words, status=400))
            answer = await stage.ask(kind)
            assert (answer.status, answer.code) == (400, "context_length_exceeded")
            assert answer.json["error"]["param"] == param


# places


async def test_audio_has_few_places_and_no_line(autojump_clock):
    """One more than `audio_max_concurrency` is 503 at once; embeddings and chat are not touched."""
    async with open_stage(service_config(audio_max_concurrency=2)) as stage:
        stage.small.engine().chat_default = good_reply()
        for kind in ("speech", "transcriptions"):
            stage.answers(kind, Reply((Fault.STALL,)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, "speech", FakeCaller())
            nursery.start_soon(stage.serve, "transcriptions", FakeCaller())
            await trio.sleep(1)
            assert (await stage.small.house.audio.inspect()).active == 2
            refused = await stage.ask("named_speech")
            assert (refused.status, refused.code) == (503, "server_busy")
            assert refused.headers[b"retry-after"] == b"1"
            stage.answers("embeddings", GOOD["embeddings"])
            assert (await stage.ask("embeddings")).status == 200
            assert (await stage.small.chat()).status == 200
            assert trio.current_time() == 1
            nursery.cancel_scope.cancel()
        stage.answers("speech", GOOD["speech"])
        assert (await stage.ask("speech")).status == 200


async def test_a_body_on_its_way_takes_no_place_of_audio(autojump_clock):
    """Slow uploads keep nobody from being heard."""
    async with open_stage(service_config(audio_max_concurrency=1)) as stage:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, "transcriptions", FakeCaller(body_delay_s=50))
            await trio.sleep(1)
            stage.answers("speech", GOOD["speech"])
            assert (await stage.ask("speech")).status == 200
            nursery.cancel_scope.cancel()


async def test_the_front_door_counts_every_request(autojump_clock):
    """`max_concurrency` bounds chat and services together."""
    async with open_stage(service_config(ServerSettings(max_concurrency=1))) as stage:
        stage.answers("embeddings", Reply((Fault.STALL,)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, "embeddings", FakeCaller())
            await trio.sleep(1)
            assert (await stage.ask("rerank")).status == 503
            assert (await stage.small.chat()).status == 503
            nursery.cancel_scope.cancel()


async def test_budgets_are_about_chat(autojump_clock):
    """A client that has its budget inside may still ask for embeddings, and the other way round."""
    server = ServerSettings(auth_env="TOKEN", client_limits={"_legacy": 1})
    async with open_stage(service_config(server)) as stage:
        stage.answers("embeddings", Reply((Fault.STALL,)), GOOD["embeddings"])
        stage.small.engine().chat_default = good_reply()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, "embeddings", FakeCaller())
            await trio.sleep(1)
            assert (await stage.ask("embeddings")).status == 200
            assert (await stage.small.chat()).status == 200
            assert stage.small.records[-1].client_id == ClientId("_legacy")
            nursery.cancel_scope.cancel()


async def test_a_shutdown_ends_them_too(autojump_clock):
    """503 in fixed words where nothing was sent yet."""
    async with open_stage() as stage:
        stage.answers("embeddings", Reply((Fault.STALL,)))
        caller = FakeCaller()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.serve, "embeddings", caller)
            await trio.sleep(1)
            stage.small.house.exchanges.shut_down()
        assert caller.status == 503
        assert json.loads(caller.received)["error"]["code"] == "shutting_down"


async def test_a_bug_ends_one_exchange(autojump_clock, monkeypatch):
    """500 in fixed words; what was held is given back."""
    async with open_stage() as stage:

        async def broken(*_: object) -> None:
            await trio.lowlevel.checkpoint()
            raise RuntimeError("secret")

        monkeypatch.setattr(stage.engine("embeddings"), "send", broken)
        answer = await stage.ask("embeddings")
        assert (answer.status, answer.code) == (500, "internal_error")
        assert b"secret" not in answer.body


@pytest.mark.parametrize(
    ("count", "default", "status"), [(1, (), 200), (2, (1,), 200), (2, (), 404)]
)
async def test_a_purpose_means_its_default(count, default, status, autojump_clock):
    """The only route of a kind, or the one that is marked."""
    routes = tuple(
        audio_route("x" * number, "tts", default=number in default)
        for number in range(1, count + 1)
    )
    config = service_config().model_copy(update={"audio_routes": routes})
    async with open_stage(config) as stage:
        for name in ("x", "xx")[:count]:
            stage.small.service(name).chat.append(GOOD["named_speech"])
        answer = await stage.ask("named_speech")
        assert answer.status == status
        if status == 200:
            assert answer.json["model"] == "x"


async def test_under_a_server_that_does_not_tell_a_watcher_sees_them_leave(autojump_clock):
    """The engine's connection is closed all the same."""
    async with open_stage() as stage:
        stage.answers("embeddings", Reply((Fault.STALL,)))
        leave = trio.Event()
        content_type, body = embedding()
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                await request(
                    stage.app,
                    "POST",
                    "/v1/embeddings",
                    headers=[BEARER, (b"content-type", content_type)],
                    parts=[body],
                    leave=leave,
                    answer=Answer(),
                )

            nursery.start_soon(ask)
            await trio.sleep(1)
            leave.set()
        assert [record.workload_outcome for record in stage.small.records] == ["disconnected"]


async def test_a_caller_that_had_left_already_asks_nobody(autojump_clock):
    """Nothing is sent to any engine."""
    async with open_stage() as stage:
        await stage.ask("embeddings", side=Side(gone=True))
        assert stage.engine("embeddings").attempts == 0
