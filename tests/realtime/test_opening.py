"""What is decided on a session's handshake: gates, places, and how an engine may fail it."""

import pytest
import trio
import trio.testing

from anvil_trio.actors.messages import Refused
from anvil_trio.errors import Code, problem
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.realtime.handshake import Wanted
from tests.realtime.checks import SERVER, reason, silent
from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import open_stage, realtime_config
from tests.support.fake_upstream import Dial
from tests.support.small_house import (
    ALIAS,
    TIER,
    config_of,
    direct_tier,
    replica_tier,
)


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


async def test_a_member_that_comes_with_the_expiry_is_given_back(autojump_clock):
    """A grant in the very step in which the wait expires: no attempt, one 503, nothing held."""
    tier = replica_tier(realtime=True, ceiling=1)
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    async with open_stage(config_of(tier, server=SERVER)) as stage:
        stage.small.limit_to(1)
        got = await stage.small.house.tiers[TIER].acquire(LEGACY_CLIENT)
        assert not isinstance(got, Refused)
        client = FakeClient()
        with got:
            stage.nursery.start_soon(stage.serve, client)
            await trio.testing.wait_all_tasks_blocked()
            got.release()
            await trio.lowlevel.checkpoint()  # the tier grants; who waits has not run yet
            clock.jump(SERVER.admission_timeout_s)
        await stage.over(client)
        assert client.refusal is not None
        assert client.refusal.code == "admission_timeout"
        assert stage.small.records[-1].attempts == ()


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
