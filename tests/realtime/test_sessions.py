"""A session from its handshake to its record, on virtual time."""

import json

import pytest
import trio
from structlog.testing import capture_logs
from wsproto.utilities import generate_accept_token

from anvil_trio.config.model import ServerSettings
from anvil_trio.errors import Code, problem
from anvil_trio.realtime.handshake import Wanted
from anvil_trio.realtime.relay import HURRY_S
from anvil_trio.realtime.run import FAREWELL_S
from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import Stage, open_stage, realtime_config
from tests.support.fake_upstream import Dial
from tests.support.small_house import (
    ALIAS,
    config_of,
    direct_tier,
    replica_tier,
)

SERVER = ServerSettings(
    admission_timeout_s=10,
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
    max_event_bytes=4096,
    client_limits={"one": 1},
)


def reason(stage: Stage) -> tuple[str, str]:
    """How the only record says that its session ended."""
    (record,) = stage.small.records
    return record.workload_outcome, record.attempts[0].reason if record.attempts else "-"


def told(client: FakeClient) -> str:
    """The code of the error that was the last thing a client was told."""
    last = client.received[-1]
    assert isinstance(last, str)
    event = json.loads(last)
    assert event["type"] == "error"
    return str(event["error"]["code"])


async def never(_connection: object) -> None:
    """An engine that says nothing and hears nothing."""
    await trio.sleep_forever()


async def test_messages_pass_both_ways(autojump_clock):
    """Text and bytes reach the engine and come back in order; one record says so."""
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        client = await stage.begin(FakeClient())
        client.say("one", b"two", "three")
        assert await client.heard(3) == ["one", b"two", "three"]
        client.goodbye()
        await stage.over(client)
        assert end.closes == [1000]
        (record,) = stage.small.records
        assert (record.kind, record.route, record.requested_tier) == (
            "realtime",
            ALIAS,
            "primary",
        )
        assert (record.request_bytes, record.response_bytes) == (11, 11)
        assert record.time_to_first_content_ms is not None
        assert client.closed is None, "who said goodbye is told nothing"
    assert reason(stage) == ("success", "served")


async def test_the_handshake_upstream_is_ours(autojump_clock):
    """The member's URL with its own model's name, our key and id, and nothing of the client's."""
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        client = FakeClient()
        stage.nursery.start_soon(
            lambda: stage.serve(client, Wanted(ALIAS, "transcription"), is_beta=True)
        )
        await client.accepted.wait()
        (request,) = end.requests
        assert request.path == "/v1/realtime?model=served-model&intent=transcription"
        headers = dict(request.headers)
        assert headers[b"authorization"] == b"Bearer upstream-key"
        assert headers[b"openai-beta"] == b"realtime=v1"
        assert headers[b"x-request-id"] == client.headers[b"x-anvil-request-id"]
        assert request.proposed_subprotocols == ()
        client.goodbye()
        await stage.over(client)


async def test_the_model_is_renamed_both_ways(autojump_clock):
    """The engine hears its own name, the client the alias."""
    event = '{"type":"session.update", "session":{"model":"llm.primary"}}'
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        client = await stage.begin(FakeClient())
        client.say(event, event.encode())
        assert await client.heard(2) == [event, event.encode()]
        assert end.heard == [event.replace("llm.primary", "served-model"), event.encode()]
        client.goodbye()
        await stage.over(client)


async def test_a_tier_without_a_model_keeps_the_alias(autojump_clock):
    """As in chat: who configured no name for the engine has it asked by the caller's."""
    tier = direct_tier(realtime=True).model_copy(update={"model": None})
    async with open_stage(config_of(tier)) as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        client = await stage.begin(FakeClient())
        assert end.requests[0].path == "/v1/realtime?model=llm.primary"
        client.goodbye()
        await stage.over(client)


@pytest.mark.parametrize(
    ("config", "wanted", "status", "code", "outcome"),
    [
        (None, Wanted("nobody"), 404, "model_not_found", ("rejected", "-")),
        (
            None,
            problem(Code.INVALID_REQUEST, param="model"),
            400,
            "invalid_request",
            ("rejected", "-"),
        ),
        (
            config_of(direct_tier()),
            Wanted(ALIAS),
            400,
            "invalid_request",
            ("rejected", "request_rejected"),
        ),
        (
            config_of(
                direct_tier(
                    realtime=True, metadata_source="upstream", health_path="/health"
                ).model_copy(update={"model": None, "context_limit": None}),
            ),
            Wanted(ALIAS),
            503,
            "service_unavailable",
            ("rejected", "unavailable"),
        ),
    ],
    ids=["unknown model", "unreadable query", "no sessions", "engine not known yet"],
)
async def test_a_gate_refuses_before_anything_is_reserved(
    autojump_clock, config, wanted, status, code, outcome
):
    """R009: a status on the handshake, and no engine is asked."""
    async with open_stage(config) as stage:
        client = FakeClient()
        await stage.serve(client, wanted)
        assert client.refusal is not None
        assert (client.refusal.status, client.refusal.code) == (status, code)
        assert b"x-anvil-request-id" in client.headers
        assert not client.has_started
        assert stage.small.engine().attempts == 0
    assert reason(stage) == outcome


async def test_a_client_has_as_many_sessions_as_requests(autojump_clock):
    """A session counts against its client's limit for as long as it lasts: a 429 for one more."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery))
        first, second = FakeClient(), FakeClient()
        stage.nursery.start_soon(lambda: stage.serve(first, name="one"))
        await first.accepted.wait()
        await stage.serve(second, name="one")
        assert second.refusal is not None
        assert (second.refusal.status, second.refusal.code) == (
            429,
            "client_concurrency_exhausted",
        )
        first.goodbye()
        await stage.over(first)
        third = FakeClient()
        stage.nursery.start_soon(lambda: stage.serve(third, name="one"))
        await third.accepted.wait()
        third.goodbye()
        await stage.over(third)


async def test_a_session_holds_its_members_place(autojump_clock):
    """One lease for the whole session: who waits for the place gets it when the session is over."""
    tier = replica_tier(realtime=True, ceiling=1)
    async with open_stage(config_of(tier, server=SERVER)) as stage:
        for member in "ab":
            stage.engine(EngineEnd(stage.nursery), member)
        first, second, third = FakeClient(), FakeClient(), FakeClient()
        await stage.begin(first)
        await stage.begin(second)
        stage.nursery.start_soon(stage.serve, third)
        await trio.sleep(5)
        assert (await stage.small.snapshot()).waiting == 1
        assert not third.has_started
        second.goodbye()
        await third.accepted.wait()
        fourth = FakeClient()
        fourth.stop_reading()
        await stage.serve(fourth)
        assert fourth.refusal is not None
        assert fourth.refusal.code == "admission_timeout"
        assert stage.small.records[-1].admission_wait_ms == 10_000
        for client in (first, third):
            client.goodbye()
            await stage.over(client)
        assert all(len(record.attempts) <= 1 for record in stage.small.records)


async def test_a_quiesced_tier_admits_none_and_ends_none(autojump_clock):
    """A drain waits for a session as for a stream; a new one is a 503."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery))
        client = await stage.begin(FakeClient())
        handle = stage.small.house.tiers["primary"]  # type: ignore[index]
        handle.set_quiesced(True)
        refused = FakeClient()
        await stage.serve(refused)
        assert refused.refusal is not None
        assert (refused.refusal.status, refused.refusal.code) == (503, "service_unavailable")
        with trio.move_on_after(5) as patience:
            await handle.drain()
        assert patience.cancelled_caught, "the session still runs"
        client.say("still here")
        assert await client.heard(1) == ["still here"]
        client.goodbye()
        with trio.fail_after(1):
            await handle.drain()


# how an engine may fail before the client is accepted


@pytest.mark.parametrize(
    ("dial", "code"), [(Dial.REFUSED, "upstream_error"), (Dial.CONNECT_STALLS, "connect_timeout")]
)
async def test_an_engine_that_cannot_be_reached_is_a_status(autojump_clock, dial, code):
    """502 where it refuses, 504 where nothing comes within the tier's timeout."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery)).dial = dial
        client = FakeClient()
        await stage.serve(client)
        assert client.refusal is not None
        assert client.refusal.code == code
        assert client.refusal.status == (502 if dial is Dial.REFUSED else 504)
        assert stage.small.engine().attempts == 1


async def silent(stream: trio.abc.Stream) -> None:
    """Takes the handshake and never answers."""
    await trio.sleep_forever()


async def cut(stream: trio.abc.Stream) -> None:
    """Closes instead of an answer."""
    await stream.receive_some()


async def no_http(stream: trio.abc.Stream) -> None:
    """Answers in another language."""
    await stream.send_all(b"\0\1\2 nothing of HTTP\r\n\r\n" * 3)
    await trio.sleep_forever()


async def endless(stream: trio.abc.Stream) -> None:
    """A refusal whose body never ends."""
    await stream.send_all(b"HTTP/1.1 503 No\r\ncontent-length: 1000000000\r\n\r\n")
    while True:
        await stream.send_all(b"x" * 65_536)


async def wrong_accept(stream: trio.abc.Stream) -> None:
    """Accepts somebody else's handshake."""
    await stream.receive_some()
    await stream.send_all(
        b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"
    )
    await trio.sleep_forever()


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (silent, 504, "connect_timeout"),
        (cut, 502, "upstream_error"),
        (no_http, 502, "upstream_error"),
        (endless, 502, "upstream_error"),
        (wrong_accept, 502, "upstream_error"),
    ],
)
async def test_an_engine_that_does_not_shake_hands_is_a_status(autojump_clock, raw, status, code):
    """Whatever it does instead, within the tier's timeout; nothing of it is shown or kept."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery, raw=raw))
        client = FakeClient()
        await stage.serve(client)
        assert client.refusal is not None
        assert (client.refusal.status, client.refusal.code) == (status, code)
        assert trio.current_time() == pytest.approx(20 if raw is silent else 0, abs=0.01)
    assert reason(stage)[1] == "backend_error"


@pytest.mark.parametrize(
    ("answered", "status", "code"),
    [
        (400, 400, "upstream_refused"),
        (401, 502, "upstream_error"),
        (404, 502, "upstream_error"),
        (429, 429, "rate_limited"),
        (503, 503, "overloaded"),
        (500, 502, "upstream_error"),
        (302, 502, "upstream_error"),
    ],
)
async def test_an_engines_refusal_is_mapped_as_for_chat(autojump_clock, answered, status, code):
    """Its status decides, its words are left out, with a body and without."""
    for body in (b"", b'{"error":{"message":"secret"}}'):
        async with open_stage() as stage:
            stage.engine(EngineEnd(stage.nursery, refuse=(answered, body)))
            client = FakeClient()
            await stage.serve(client)
            assert client.refusal is not None
            assert (client.refusal.status, client.refusal.code) == (status, code)
            assert "secret" not in client.refusal.message
            assert trio.current_time() < 0.01
        assert reason(stage) == ("error", "backend_error")


# how a session ends once it has begun


async def vanish(connection: object) -> None:
    """Breaks the connection without a word."""
    await trio.aclose_forcefully(connection._stream)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "close", "error", "end"),
    [
        (1000, (1000, ""), None, ("success", "served")),
        (4000, (4000, ""), None, ("success", "served")),
        (1008, (1008, "upstream_refused"), "upstream_error", ("error", "backend_error")),
        (1011, (1011, "upstream_error"), "upstream_error", ("error", "backend_error")),
        (1012, (1011, "upstream_error"), "upstream_error", ("error", "backend_error")),
        (None, (1011, "upstream_error"), "upstream_error", ("error", "backend_error")),
    ],
)
async def test_an_engine_ends_its_session(autojump_clock, code, close, error, end):
    """What it said before is handed on; then an error where it is one, and a close of ours."""

    async def serve(connection):
        for number in range(5):
            await connection.send_message(f"{number}")
        if code is None:
            await vanish(connection)
        else:
            await connection.aclose(code, "the engine's own words")

    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = await stage.begin(FakeClient())
        await stage.over(client)
        assert client.received[:5] == ["0", "1", "2", "3", "4"]
        assert client.closed is not None
        assert (client.closed.code, client.closed.reason) == close
        if error is None:
            assert len(client.received) == 5
        else:
            assert told(client) == error
            assert "own words" not in str(client.received)
    assert reason(stage) == end


async def test_what_an_engine_said_before_its_end_is_heard(autojump_clock):
    """Also by a client that reads late and has gone on talking to nobody."""

    async def serve(connection):
        for number in range(3):
            await connection.send_message(f"{number}")
        await connection.aclose()

    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = FakeClient()
        stage.nursery.start_soon(stage.serve, client)
        await client.heard(1)
        client.stop_reading()
        await trio.sleep(1)
        client.say("late", "later")
        await trio.sleep(1)
        client.read_on()
        await stage.over(client)
        assert client.received == ["0", "1", "2"]
        assert client.closed is not None
        assert client.closed.code == 1000
    assert reason(stage) == ("success", "served")


async def bad_utf8(connection) -> None:
    """Text that is no UTF-8."""
    await connection._stream.send_all(b"\x81\x02\xff\xfe")
    await trio.sleep_forever()


async def bad_frame(connection) -> None:
    """Reserved bits and an opcode that nobody knows."""
    await connection._stream.send_all(b"\xff\x00")
    await trio.sleep_forever()


async def masked(connection) -> None:
    """A frame as only clients may send it."""
    await connection._stream.send_all(b"\x81\x81\0\0\0\0x")
    await trio.sleep_forever()


async def too_long(connection) -> None:
    """One message in ten frames of a KiB each."""
    for number in range(10):
        head = b"\x00" if number else b"\x01"
        async with connection._stream_lock:
            await connection._stream.send_all(head + b"\x7e\x04\x00" + b"x" * 1024)
    await trio.sleep_forever()


@pytest.mark.parametrize(
    ("serve", "code"), [(bad_utf8, 1007), (bad_frame, 1011), (masked, 1011), (too_long, 1009)]
)
async def test_an_engine_that_breaks_the_protocol_ends_its_session(autojump_clock, serve, code):
    """Text that is none, frames that are none, a message beyond `max_event_bytes`."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = await stage.begin(FakeClient())
        began_at = trio.current_time()
        await stage.over(client)
        assert trio.current_time() - began_at < 1
        assert told(client) == "upstream_error"
        assert client.closed is not None
        assert client.closed.code == code
    assert reason(stage) == ("error", "backend_error")


async def test_a_client_that_vanishes_ends_the_engine_in_that_step(autojump_clock):
    """CAN-04's kind: the connection is closed and all is given back, not a moment later."""
    async with open_stage() as stage:
        engine = stage.engine(EngineEnd(stage.nursery, never))
        client = await stage.begin(FakeClient())
        await trio.sleep(1)
        client.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert client in stage.ended
        assert (engine.opened, engine.closed) == (1, 1)
        assert trio.current_time() == client.left_at
        assert client.received == []
        assert client.closed is None
    assert reason(stage) == ("disconnected", "client_disconnected")


@pytest.mark.parametrize("when", ["queued", "connecting", "shaking hands", "stalled upstream"])
async def test_a_client_may_vanish_at_any_time(autojump_clock, when):
    """In the line, while its engine is dialled, answers nothing, or takes nothing."""
    tier = direct_tier(realtime=True, max_concurrency=1)
    async with open_stage(config_of(tier, server=SERVER)) as stage:
        engine = stage.engine(EngineEnd(stage.nursery, never))
        first = await stage.begin(FakeClient()) if when == "queued" else None
        if when == "connecting":
            engine.dial = Dial.CONNECT_STALLS
        elif when == "shaking hands":
            engine.serve_stream = EngineEnd(stage.nursery, raw=silent)
        client = FakeClient()
        stage.nursery.start_soon(stage.serve, client)
        if when == "stalled upstream":
            client.say(*["x" * 4000] * 100)
        await trio.sleep(3)
        client.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert client in stage.ended
        assert trio.current_time() == client.left_at
        if first is not None:
            first.leave()
            await stage.over(first)


async def test_what_a_client_said_before_its_goodbye_reaches_the_engine(autojump_clock):
    """A close in good order is behind every message, and so is it told."""
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        client = await stage.begin(FakeClient())
        client.say(*map(str, range(50)))
        client.goodbye(4001)
        await stage.over(client)
        assert end.heard == list(map(str, range(50)))
        assert end.closes == [4001]
    assert reason(stage) == ("success", "served")


@pytest.mark.parametrize("is_early", [False, True])
async def test_a_goodbye_waits_only_so_long_for_an_engine(autojump_clock, is_early):
    """CAN-04's kind: an engine that takes nothing keeps nobody's place for a second.

    Also where the client closed before the first message was handed on.
    """
    async with open_stage(realtime_config(SERVER)) as stage:
        engine = stage.engine(EngineEnd(stage.nursery, raw=shake_hands_and_sleep))
        client = FakeClient()
        client.say(*["x" * 4000] * 100)
        if is_early:
            client.goodbye()
        began_at = trio.current_time()
        await stage.begin(client)
        if not is_early:
            await trio.sleep(1)
            began_at = trio.current_time()
            client.goodbye()
        await stage.over(client)
        assert trio.current_time() - began_at < HURRY_S + FAREWELL_S + 0.01 < 1
        assert (engine.opened, engine.closed) == (1, 1)
    assert reason(stage) == ("disconnected", "client_disconnected")


async def shake_hands_and_sleep(stream: trio.abc.Stream) -> None:
    """Accepts, and never reads again; what is sent fills its one buffer."""
    await accept_raw(stream)
    await trio.sleep_forever()


async def accept_raw(stream: trio.abc.Stream) -> None:
    """Accept a handshake by hand."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive_some()
    lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    key = {name.lower(): value for name, value in lines.items()}[b"sec-websocket-key"]
    accept = generate_accept_token(key)
    await stream.send_all(
        b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: " + accept + b"\r\n\r\n"
    )


async def test_an_engine_that_says_nothing_at_first_has_the_startup_timeout(autojump_clock):
    """After that the client is told so, in the protocol's shape, and its session closed."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, never))
        client = await stage.begin(FakeClient())
        began_at = trio.current_time()
        await stage.over(client)
        assert trio.current_time() - began_at == pytest.approx(50, abs=0.01)
        assert told(client) == "startup_timeout"
        assert client.closed is not None
        assert client.closed.code == 1011
    assert reason(stage)[0] == "timeout"


@pytest.mark.parametrize(
    ("answers", "end"),
    [(0, ("timeout", "backend_error")), (1, ("disconnected", "client_disconnected"))],
)
async def test_a_silent_session_ends(autojump_clock, answers, end):
    """After idle_timeout_s without a word of either side; whose turn it was decides the record."""

    async def serve(connection):
        await connection.send_message("hello")
        await connection.get_message()
        for _ in range(answers):
            await connection.send_message("answer")
        await trio.sleep_forever()

    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = await stage.begin(FakeClient())
        await trio.sleep(15)
        client.say("question")
        await stage.over(client)
        assert trio.current_time() == pytest.approx(35, abs=0.01)
        assert told(client) == "idle_timeout"
    assert reason(stage) == end


async def test_pings_keep_no_silent_session(autojump_clock):
    """Both sides are pinged in every heartbeat interval, which is no word of theirs."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, never))
        client = await stage.begin(FakeClient())
        await stage.over(client)
        assert client.pings == 3
        assert trio.current_time() < 51


async def test_an_engines_ping_is_answered(autojump_clock):
    """While the session goes on."""
    answered = trio.Event()

    async def serve(connection):
        await connection.ping(b"are you there")
        answered.set()
        await trio.sleep_forever()

    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = await stage.begin(FakeClient())
        with trio.fail_after(1):
            await answered.wait()
        client.goodbye()
        await stage.over(client)


async def test_a_client_that_does_not_read_is_given_up(autojump_clock):
    """After client_stall_timeout_s; meanwhile its engine is not read either."""
    sent = []

    async def serve(connection):
        while True:
            await connection.send_message(f"{len(sent)}")
            sent.append(trio.current_time())

    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = await stage.begin(FakeClient())
        await client.heard(1)
        client.stop_reading()
        at = trio.current_time()
        count = len(client.received)
        await stage.over(client)
        assert trio.current_time() - at == pytest.approx(31, abs=0.1)
        assert len(client.received) <= count + 3, "no back-pressure"
    assert reason(stage) == ("disconnected", "client_disconnected")


async def test_an_engine_that_does_not_read_stops_its_client(autojump_clock):
    """After client_stall_timeout_s it has failed; meanwhile its client is not read either."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, raw=shake_hands_and_sleep))
        client = await stage.begin(FakeClient())
        client.say(*["x" * 4000] * 1000)
        await stage.over(client)
        assert trio.current_time() == pytest.approx(30 + FAREWELL_S, abs=0.1)
        assert client._said.statistics().current_buffer_used > 900, "no back-pressure"
        assert told(client) == "idle_timeout"
    assert reason(stage) == ("timeout", "backend_error")


async def test_the_total_deadline_ends_a_busy_session(autojump_clock):
    """total_timeout_s from the handshake, whatever is said; in words, and 1011."""

    async def serve(connection):
        while True:
            await connection.send_message("tick")
            await trio.sleep(1)

    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery, serve))
        client = await stage.begin(FakeClient())
        await stage.over(client)
        assert trio.current_time() == pytest.approx(200, abs=0.01)
        assert told(client) == "request_timeout"
        assert client.closed is not None
        assert client.closed.code == 1011
    assert reason(stage) == ("timeout", "backend_error")


async def test_the_end_of_a_shutdown_ends_sessions(autojump_clock):
    """In words, with "going away", and at once."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        client = await stage.begin(FakeClient())
        stage.small.house.exchanges.shut_down()
        await trio.testing.wait_all_tasks_blocked()
        assert client in stage.ended
        assert told(client) == "shutting_down"
        assert client.closed is not None
        assert (client.closed.code, client.closed.reason) == (1001, "shutting_down")
    assert reason(stage) == ("cancelled", "completion_error")


async def test_last_words_are_bounded(autojump_clock):
    """A client that does not take them is not waited for, and its session was a stall."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        client = await stage.begin(FakeClient())
        client.stop_reading()
        at = trio.current_time()
        stage.small.house.exchanges.shut_down()
        await stage.over(client)
        assert trio.current_time() - at == pytest.approx(1, abs=0.01)
    assert reason(stage) == ("disconnected", "client_disconnected")


async def test_a_client_that_does_not_take_the_acceptance_is_given_up(autojump_clock):
    """It has its place no longer than client_stall_timeout_s."""
    async with open_stage(realtime_config(SERVER)) as stage:
        stage.engine(EngineEnd(stage.nursery))
        client = FakeClient()
        client.stop_reading()
        await stage.serve(client)
        assert trio.current_time() == pytest.approx(30, abs=0.01)
    assert reason(stage) == ("disconnected", "client_disconnected")


async def test_a_bug_ends_its_session_alone(autojump_clock, monkeypatch):
    """A 500's words for the client, one event line, everything given back."""
    from anvil_trio.realtime import relay

    async def broken(_self):
        raise ZeroDivisionError

    monkeypatch.setattr(relay.SessionRelay, "_to_client", broken)
    with capture_logs() as lines:
        async with open_stage() as stage:
            stage.engine(EngineEnd(stage.nursery))
            client = FakeClient()
            await stage.serve(client)
            assert told(client) == "internal_error"
            assert client.closed is not None
            assert client.closed.code == 1011
    (line,) = [line for line in lines if line["event"] == "exchange_failed"]
    assert line["kind"] == "ZeroDivisionError"


async def test_what_is_shown_of_a_running_session(autojump_clock):
    """It is among the running requests, as one that streams."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        client = await stage.begin(FakeClient())
        (seen,) = stage.small.house.exchanges.seen(trio.current_time())
        assert seen.phase == "dispatched"
        client.say("x")
        await client.heard(1)
        (seen,) = stage.small.house.exchanges.seen(trio.current_time())
        assert (seen.phase, seen.route) == ("streaming", ALIAS)
        client.goodbye()
        await stage.over(client)
