"""One exchange, ended at every scheduler step in turn: afterwards nothing is held anywhere."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import trio
from structlog.testing import capture_logs

from anvil_trio.config.model import TierDialect
from tests.sim.books import Books
from tests.sim.draws import SERVER
from tests.sim.operator import Engine
from tests.support.engine_words import ENGINES
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import reply, stream
from tests.support.sim import CancelAt
from tests.support.small_house import (
    TIER,
    SmallHouse,
    config_of,
    open_small_house,
    replica_tier,
)
from tests.support.three_dialects import THREE

__all__ = ["EVERY", "KINDS", "Swept", "scenario"]

KINDS = ("unary", "stream", "queued", "draining")


@dataclass(frozen=True, slots=True)
class Swept:
    """What is swept: which kind of request, in which dialect, over which engine, ended how."""

    kind: str
    spoken: str = "chat"
    engine: TierDialect = TierDialect.OPENAI
    is_leaving: bool = False

    def __str__(self) -> str:
        end = "left" if self.is_leaving else "cancelled"
        return f"{self.kind}-{self.spoken}-{self.engine}-{end}"


EVERY = tuple(
    Swept(kind, spoken, engine, is_leaving)
    for kind in KINDS
    for spoken in THREE
    for engine in TierDialect
    for is_leaving in (False, True)
)


class _Leaving:
    """Makes the n-th step the one in which the caller leaves, instead of a cancel."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.cancel = leave


async def scenario(_rng: Random, cancel_at: CancelAt, *, swept: Swept) -> None:
    """The request of that kind, ended at one step, beside one that is left alone."""
    config = config_of(replica_tier(dialect=swept.engine), server=SERVER)
    with capture_logs() as lines:
        async with open_small_house(config, make_engine=Engine) as small:
            books = Books(small)
            trio.lowlevel.add_instrument(books)
            try:
                await _run(small, cancel_at, swept)
            finally:
                trio.lowlevel.remove_instrument(books)
            books.close()
            await small.assert_at_rest()
            assert all(len(record.attempts) <= 1 for record in small.records)
            assert len(small.records) == 2, "one record per request"
            assert (await small.chat()).status == 200, "the house goes on"
    assert not [line for line in lines if line["event"] == "exchange_failed"], "a bug"


async def _run(small: SmallHouse, cancel_at: CancelAt, swept: Swept) -> None:
    spoken, words = THREE[swept.spoken], ENGINES[swept.engine]
    is_stream = swept.kind != "unary"
    whole = reply(words.unary("one"))
    pieces = (words.begin, 0.01, words.text("one"), 16.0, words.text("two"), words.finish)
    for number, engine in enumerate(small.engines.values()):
        engine.is_warm = engine.is_told = number == 1  # whose turn it is for the one that is swept
        engine.chat_default = stream(*pieces, words.done) if is_stream else whole
    if swept.kind == "queued":
        small.limit_to(1)
    beside, ended = (FakeCaller(spoken.body(stream=is_stream)) for _ in range(2))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(small.serve, beside, "beside", spoken.dialect)
        await trio.sleep(0.001 if swept.kind == "queued" else 0)
        if swept.kind == "draining":
            nursery.start_soon(_drain, small)
        with trio.CancelScope() as scope:
            by = _Leaving(ended.leave) if swept.is_leaving else scope
            cancel_at.arm(by)  # type: ignore[arg-type]
            await small.serve(ended, "swept", spoken.dialect)
        cancel_at.disarm()
    for engine in small.engines.values():
        engine.chat_default = whole


async def _drain(small: SmallHouse) -> None:
    """An operator who drains in the middle of it, and readmits when all is quiet."""
    handle = small.house.tiers[TIER]
    await trio.sleep(0.005)
    handle.set_quiesced(True)
    await handle.drain()
    assert (await small.snapshot()).active == 0, "drained with a lease out"
    handle.set_quiesced(False)
