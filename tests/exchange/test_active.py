"""What a running exchange shows of itself, phase by phase."""

import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.facts import ActiveRequest, Phase
from tests.support.chunks import DONE, ROLE, STOP, good_stream, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import STALLED_CONNECT
from tests.support.small_house import (
    SmallHouse,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
)

COUNTED = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\n'


@pytest.fixture
async def small():
    """A house of one direct tier that takes one request at a time."""
    server = ServerSettings(heartbeat_interval_s=1.0)
    async with open_small_house(config_of(direct_tier(max_concurrency=1), server=server)) as small:
        yield small


def seen(small: SmallHouse) -> list[ActiveRequest]:
    """All that run now."""
    return small.house.exchanges.seen(trio.current_time())


async def at(small: SmallHouse, caller: FakeCaller, moment: float) -> ActiveRequest:
    """The one running request at a moment; it is cut after that."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: small.serve(caller, ids=CallerIds(session_id="s-1")))
        await trio.sleep(moment)
        [shown] = seen(small)
        nursery.cancel_scope.cancel()
    return shown


async def test_a_body_that_is_being_read_is_checked(small, autojump_clock):
    """Before its model is known a request has no alias, and its age is its last activity's."""
    shown = await at(small, FakeCaller(chat_body(), body_delay_s=9.0), 2.0)
    assert (shown.phase, shown.route) == (Phase.CHECKING, "unparsed")
    assert (shown.elapsed_ms, shown.last_activity_ms) == (2000, 2000)
    assert shown.admission_wait_ms is shown.estimated_input_tokens is None
    assert (shown.session_id, shown.client_id) == ("s-1", "_legacy")


async def test_what_waits_in_line_is_queued(small, autojump_clock):
    """Its wait grows until it is answered."""
    small.engine().chat = [good_stream("x", gap_s=9.0)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: small.chat(stream=True))
        await trio.sleep(1)
        nursery.start_soon(lambda: small.chat(stream=True))
        await trio.sleep(2)
        first, second = seen(small)
        nursery.cancel_scope.cancel()
    assert (first.phase, first.admission_wait_ms) == (Phase.STREAMING, 0)
    assert (second.phase, second.admission_wait_ms) == (Phase.QUEUED, 2000)
    assert (second.route, second.context_limit_tokens) == ("llm.primary", 100_000)
    assert second.estimated_input_tokens is not None


async def test_a_request_that_is_not_written_yet_is_admitted(small, autojump_clock):
    """It has its place while the connection is being made."""
    small.engine().chat = [STALLED_CONNECT]
    shown = await at(small, FakeCaller(chat_body()), 2.0)
    assert (shown.phase, shown.admission_wait_ms) == (Phase.ADMITTED, 0)


async def test_an_engine_that_has_not_answered_was_dispatched_to(small, autojump_clock):
    """Our own heartbeats are no activity of the request's."""
    small.engine().chat = [stream(ROLE, head_after_s=30.0)]
    caller = FakeCaller(chat_body(stream=True))
    shown = await at(small, caller, 5.5)
    assert caller.received.startswith(b": keepalive")
    assert (shown.phase, shown.last_activity_ms) == (Phase.DISPATCHED, 5500)


async def test_a_reply_that_arrives_is_streaming(small, autojump_clock):
    """Its last activity is the engine's last event, and what that counted is seen at once."""
    small.engine().chat = [stream(ROLE, 1.0, text("a"), STOP, COUNTED, 1.5, DONE)]
    shown = await at(small, FakeCaller(chat_body(stream=True)), 1.25)
    assert (shown.phase, shown.last_activity_ms, shown.elapsed_ms) == (Phase.STREAMING, 250, 1250)
    assert (shown.input_tokens, shown.output_tokens) == (9, 2)
    assert shown.cache_read_input_tokens is None


async def test_a_whole_reply_streams_too(small, autojump_clock):
    """The phase is about the engine, not about how the caller is told."""
    small.engine().chat = [stream(b'{"id"', 9.0)]
    assert (await at(small, FakeCaller(chat_body()), 1.0)).phase is Phase.STREAMING


async def test_the_oldest_comes_first_and_none_stays(small, autojump_clock):
    """What has ended, however it ended, is no longer seen."""
    small.engine().chat = [stream(ROLE, is_whole=False), good_stream()]
    callers = [FakeCaller(chat_body(stream=True)) for _ in range(2)]
    async with trio.open_nursery() as nursery:
        for caller in callers:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
        ids = [one.created_unix for one in seen(small)]
        assert ids == sorted(ids)
        assert len(ids) == 2
        callers[0].leave()
    assert seen(small) == []


async def test_an_odd_session_is_not_shown(small, autojump_clock):
    """Only a safe token is a session."""
    async with trio.open_nursery() as nursery:
        ids = CallerIds(session_id="a b")
        caller = FakeCaller(chat_body(), body_delay_s=9.0)
        nursery.start_soon(lambda: small.serve(caller, ids=ids))
        await trio.sleep(1)
        [shown] = seen(small)
        assert shown.session_id is None
        nursery.cancel_scope.cancel()
