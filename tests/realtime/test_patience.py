"""How a session ends by itself: silence, stalls, deadlines, stops and bugs."""

import pytest
import trio
from structlog.testing import capture_logs

from anvil_trio.realtime.run import FAREWELL_S
from tests.realtime.checks import SERVER, never, reason, shake_hands_and_sleep, told
from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import open_stage, realtime_config
from tests.support.small_house import (
    ALIAS,
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
    sent: list[float] = []

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
