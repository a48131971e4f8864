"""What passes between the two sides of a session, and how either ends it, on virtual time."""

import pytest
import trio

from anvil_trio.realtime.handshake import Wanted
from anvil_trio.realtime.relay import HURRY_S
from anvil_trio.realtime.run import FAREWELL_S
from tests.realtime.checks import SERVER, never, reason, shake_hands_and_sleep, silent, told
from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import open_stage, realtime_config
from tests.support.fake_upstream import Dial
from tests.support.small_house import (
    ALIAS,
    config_of,
    direct_tier,
)


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
    """CAN-04's kind: one that takes nothing, from the first message on or not, frees its place."""
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
