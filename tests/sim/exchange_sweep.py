"""One exchange, ended at every scheduler step in turn: afterwards nothing is held anywhere."""

from collections.abc import Callable
from random import Random

import trio
from structlog.testing import capture_logs

from tests.sim.exchange_scenario import SERVER, Engine
from tests.support.chunks import DONE, ROLE, STOP, good_reply, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import Reply
from tests.support.sim import CancelAt
from tests.support.small_house import (
    TIER,
    SmallHouse,
    config_of,
    open_small_house,
    replica_tier,
)
from tests.support.three_dialects import THREE

__all__ = ["KINDS", "scenario"]

_PLAIN = ("unary", "stream", "queued", "draining")
KINDS = (
    *_PLAIN,
    *(f"{name}_{kind}" for name in ("messages", "responses") for kind in ("unary", "stream")),
)
PIECES = stream(ROLE, 0.01, text("one"), 16.0, text("two"), STOP, DONE)


class _Leaving:
    """Makes the n-th step the one in which the caller leaves, instead of a cancel."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.cancel = leave


async def scenario(_rng: Random, cancel_at: CancelAt, *, kind: str, is_leaving: bool) -> None:
    """The request of that kind, cut at one step, beside one that is left alone."""
    config = config_of(replica_tier(), server=SERVER)
    with capture_logs():
        async with open_small_house(config, make_engine=Engine) as small:
            await _run(small, cancel_at, kind, is_leaving=is_leaving)
            await small.assert_at_rest()
            assert all(len(record.attempts) <= 1 for record in small.records)
            assert len(small.records) == 2, "one record per request"
            assert (await small.chat()).status == 200, "the house goes on"


async def _run(small: SmallHouse, cancel_at: CancelAt, kind: str, *, is_leaving: bool) -> None:
    spoken = THREE["chat" if kind in _PLAIN else kind.partition("_")[0]]
    is_stream = not kind.endswith("unary")
    answer: Reply = PIECES if is_stream else good_reply()
    for engine in small.engines.values():
        engine.chat_default = answer
    if kind == "queued":
        small.limit_to(1)
    beside = FakeCaller(spoken.body(stream=is_stream))
    swept = FakeCaller(spoken.body(stream=is_stream))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(small.serve, beside, "beside", spoken.dialect)
        await trio.sleep(0.001 if kind == "queued" else 0)
        if kind == "draining":
            nursery.start_soon(_drain, small)
        with trio.CancelScope() as scope:
            cancel_at.arm(_Leaving(swept.leave) if is_leaving else scope)  # type: ignore[arg-type]
            await small.serve(swept, "swept", spoken.dialect)
        cancel_at.disarm()
    small.engine("a").chat_default = small.engine("b").chat_default = good_reply()


async def _drain(small: SmallHouse) -> None:
    """An operator who drains in the middle of it, and readmits when all is quiet."""
    handle = small.house.tiers[TIER]
    await trio.sleep(0.005)
    handle.set_quiesced(True)
    await handle.drain()
    assert (await small.snapshot()).active == 0, "drained with a lease out"
    handle.set_quiesced(False)
