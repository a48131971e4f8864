"""One session, ended at every scheduler step in turn: afterwards nothing is held anywhere."""

from collections.abc import Callable
from random import Random

import trio
from structlog.testing import capture_logs

from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import Stage, open_stage
from tests.sim.books import Books
from tests.sim.realtime_scenario import SERVER
from tests.support.sim import CancelAt
from tests.support.small_house import config_of, direct_tier

__all__ = ["ENDS", "KINDS", "scenario"]

KINDS = ("talk", "stalled", "broken", "refused")
ENDS = ("cancelled", "left", "goodbye", "shut down")


class _End:
    """Makes the n-th step the one in which something ends the session."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.cancel = act


async def _broken(connection) -> None:
    """Says something and breaks."""
    await connection.send_message("one")
    await trio.aclose_forcefully(connection._stream)


async def _deaf(connection) -> None:
    """Hears nothing after a while."""
    await connection.get_message()
    await trio.sleep_forever()


def _engine(stage: Stage, kind: str) -> EngineEnd:
    match kind:
        case "broken":
            return EngineEnd(stage.nursery, _broken)
        case "refused":
            return EngineEnd(stage.nursery, refuse=(503, b"{}"))
        case "stalled":
            return EngineEnd(stage.nursery, _deaf)
    return EngineEnd(stage.nursery)


async def scenario(_rng: Random, cancel_at: CancelAt, *, kind: str, end: str) -> None:
    """A session of that kind, ended in that way at one step."""
    config = config_of(direct_tier(realtime=True, max_concurrency=2), server=SERVER)
    with capture_logs() as lines:
        async with open_stage(config) as stage:
            engine_end = _engine(stage, kind)
            engine = stage.engine(engine_end)
            books = Books(stage.small)
            trio.lowlevel.add_instrument(books)
            try:
                client = FakeClient()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_talk, client, kind)
                    with trio.CancelScope() as scope:
                        cancel_at.arm(_by(end, scope, client, stage))  # type: ignore[arg-type]
                        await stage.serve(client)
                    cancel_at.disarm()
                    nursery.cancel_scope.cancel()
            finally:
                trio.lowlevel.remove_instrument(books)
            books.close()
            await stage.small.assert_at_rest()
            (record,) = stage.small.records
            assert len(record.attempts) <= 1
            assert engine.attempts <= 1
            if kind == "talk" and not cancel_at.fired:
                assert engine_end.heard == ["one", b"two", "three"], "a message was lost"
                assert client.received == ["one", b"two", "three"]
                assert record.workload_outcome == "success"
            await _goes_on(stage)
    assert not [line for line in lines if line["event"] == "exchange_failed"], "a bug"


def _by(end: str, scope: trio.CancelScope, client: FakeClient, stage: Stage) -> object:
    match end:
        case "left":
            return _End(client.leave)
        case "goodbye":
            return _End(client.goodbye)
        case "shut down":
            return _End(stage.small.house.exchanges.shut_down)
    return scope


async def _talk(client: FakeClient, kind: str) -> None:
    await client.accepted.wait()
    client.say("one", b"two", "three")
    if kind == "stalled":
        client.say(*["x" * 4000] * 40)
        await trio.sleep(1)
    elif kind == "talk":
        await client.heard(3)
    client.goodbye()


async def _goes_on(stage: Stage) -> None:
    stage.engine(EngineEnd(stage.nursery))
    client = FakeClient()
    stage.nursery.start_soon(stage.serve, client)
    await client.accepted.wait()
    client.goodbye()
    await stage.over(client)
