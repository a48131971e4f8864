"""Whole exchanges in one small world: callers, engines, operator and clock draw from one seed."""

import json
import re
from itertools import pairwise
from random import Random

import trio
from structlog.testing import capture_logs

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.exchange.deadlines import GRACE_S
from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from tests.sim.books import Books
from tests.sim.disk import Disk
from tests.sim.draws import draw_config, draw_reply, longest_ms
from tests.sim.operator import Engine, Operator, agreed
from tests.support.engine_words import ENGINES
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import Reply
from tests.support.sim import Reached
from tests.support.small_house import TIER, SmallHouse, open_small_house
from tests.support.three_dialects import THREE, Spoken

__all__ = ["RARE", "scenario"]

BEAT = b": keepalive\n"
ERROR = b'"error":{'
TICK = 1e-6

RARE = (
    "success:served",
    "success:served while it paused",
    "success:left after the last word",
    "disconnected:client_disconnected",
    "disconnected:-",
    "timeout:backend_error",
    "error:backend_error",
    "rejected:-",
    "cancelled:completion_error",
    "cancelled:-",
    "code:admission_timeout",
    "code:server_busy",
    "code:client_concurrency_exhausted",
    "code:service_unavailable",
    "code:invalid_request",
    "code:model_not_found",
    "code:connect_timeout",
    "code:startup_timeout",
    "code:idle_timeout",
    "code:request_timeout",
    "code:upstream_error",
    "code:shutting_down",
    "a beat sent the head",
    "drained",
    "quiesced a tier",
    "quiesced a member",
    "an order failed",
    "readiness flipped",
    "reconfigured",
    "a member retired",
    "all were cancelled",
    "the bound of a shutdown was over",
    "looks at the books",
    *(f"whole in {name} over {engine}" for name in THREE for engine in ENGINES),
)


class World:
    """One seed's house, callers and counters."""

    def __init__(self, rng: Random, small: SmallHouse, disk: Disk, reached: Reached) -> None:
        self.rng, self.small, self.reached = rng, small, reached
        self.operator = Operator(rng, small, disk, reached)
        self.server = small.generation.config.server
        self.engines_speak = small.generation.config.tier(TIER).dialect
        self.callers: dict[FakeCaller, Spoken] = {}
        self.paused: set[FakeCaller] = set()
        self.cancelled: set[FakeCaller] = set()

    def set_up(self) -> None:
        """Engines that answer as drawn, and the first ceilings."""
        each = self.rng.choice((None, 1, 2))
        self.operator.set_ceilings(each)
        for number, engine in enumerate(self.small.engines.values()):
            assert isinstance(engine, Engine)
            engine.is_warm = engine.is_told = number % 2 == 1
            engine.limit, engine.chat_default = each, self.reply

    def reply(self, number: int) -> Reply:
        """What an engine answers to its call of that number."""
        return draw_reply(self.rng, ENGINES[self.engines_speak], number)

    # callers

    async def call(self, number: int) -> None:
        """One caller, with its habits."""
        rng = self.rng
        await trio.sleep(rng.choice((0, 0, 0.01, 2, 20)))
        spoken = rng.choice(tuple(THREE.values()))
        body = spoken.body(stream=rng.random() < 0.7)
        if rng.random() < 0.08:
            body = rng.choice((b"{", spoken.body(model="llm.unknown")))
        delay_s = rng.choice((0, 0, 0, 0.01, 3))
        caller = FakeCaller(body, body_delay_s=delay_s, is_direct=number % 3 != 0)
        self.callers[caller] = spoken
        if rng.random() < 0.15:
            act = rng.choice((caller.leave, caller.stop_reading, self.shut_down))
            caller.on_chunk = lambda data: act() if spoken.good_end in data else None
            self.paused.add(caller)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.habits, caller, scope)
                client = rng.choice(("one", "two", "_legacy"))
                await self.small.serve(caller, client, spoken.dialect)
                nursery.cancel_scope.cancel()
        if caller.left_at is not None and not scope.cancelled_caught:
            assert trio.current_time() == caller.left_at, "it went on for a caller that had left"

    async def habits(self, caller: FakeCaller, scope: trio.CancelScope) -> None:
        """A caller may pause, leave, or be cancelled from outside."""
        rng = self.rng
        if rng.random() < 0.25:
            await trio.sleep(rng.choice((0, 0.01, 1, 5)))
            self.paused.add(caller)
            caller.stop_reading()
            await trio.sleep(rng.choice((0, 0.01, 16, 28, 300)))
            caller.read_on()
        if rng.random() < 0.25:
            await trio.sleep(rng.choice((0, 0, 0.001, 1, 9, 30)))
            caller.leave()
        elif rng.random() < 0.08:
            await trio.sleep(rng.choice((0, 0.001, 1, 9)))
            self.cancelled.add(caller)
            scope.cancel()

    # ends for all

    def shut_down(self) -> None:
        """The end of a shutdown's bound, for all who are there."""
        self.reached["the bound of a shutdown was over"] += bool(self.small.house.exchanges)
        self.small.house.exchanges.shut_down()

    async def end_early(self, callers: trio.CancelScope) -> None:
        """Now and then all are told to end, or are cancelled without a word."""
        end = self.rng.choices((None, self.shut_down, callers.cancel), (16, 3, 1))[0]
        if end is None:
            return
        await trio.sleep(self.rng.choice((0.01, 2, 12, 30)))
        end()
        if callers.cancel_called:
            self.reached["all were cancelled"] += bool(self.small.house.exchanges)
            self.cancelled.update(self.callers)

    # afterwards

    def judge(self) -> None:
        """One record per request, at most one attempt, the right answer to whoever stayed."""
        records = self.small.records
        assert len(records) == self.small.begun, "one record per request"
        for record in records:
            self.judge_record(record)
        for caller in self.callers.keys() - self.cancelled:
            self.judge_caller(caller, self.callers[caller])
        for (_, member), engine in self.small.engines.items():
            chosen = [r for r in records if r.attempts and (r.replica_member_id or "") == member]
            assert engine.attempts <= len(chosen), "an engine was asked without a selection"
            assert engine.opened == engine.closed, "a connection was left"
        if not self.paused:
            self.judge_graces()

    def judge_graces(self) -> None:
        """What has finished is waited for no longer than the grace, where all callers read."""
        finish = ENGINES[self.engines_speak].finish
        for engine in self.small.engines.values():
            for call in engine.calls:
                if not json.loads(call.body).get("stream"):
                    continue  # read whole, whatever it says
                ends = [at for at, item in call.taken if item == finish]
                assert all(call.closed_at <= at + GRACE_S + TICK for at in ends), "no grace"

    def judge_record(self, record: DecisionRecord) -> None:
        """Attempts, waits and pairs of one record."""
        assert len(record.attempts) <= 1, "at most one attempt"
        reason = record.attempts[0].reason if record.attempts else "-"
        self.reached[f"{record.workload_outcome}:{reason}"] += 1
        assert record.latency_ms <= longest_ms(self.server), "nothing lasts for ever"
        assert (record.admission_wait_ms or 0) <= 1000 * self.server.admission_timeout_s

    def judge_caller(self, caller: FakeCaller, spoken: Spoken) -> None:
        """A stream has exactly one end; a success is whole."""
        received = caller.received
        assert caller.taken_while_paused <= 2, "no back-pressure"  # what waits, and last words
        for code in re.findall(rb'"code":"(\w+)"', received):
            self.reached[f"code:{code.decode()}"] += 1
        if received.startswith(BEAT):
            self.reached["a beat sent the head"] += 1
        is_done, is_failed = spoken.good_end in received, ERROR in received
        if caller not in self.paused:
            self.judge_silences(caller)
        if caller.has_left:
            self.reached["success:left after the last word"] += is_done
            return
        assert not (is_done and is_failed), "two ends"
        if caller in self.paused and not caller.has_ended:
            return  # given up while it did not read
        assert caller.has_ended, "a caller that stayed was not answered"
        if is_failed:
            return
        whole = spoken.text(received) if is_done else spoken.whole_text(received)
        assert re.fullmatch(r"<\d+:1,2,3,4>", whole), f"not whole: {whole}"
        self.reached[f"whole in {spoken.name} over {self.engines_speak}"] += 1
        self.reached["success:served while it paused"] += caller in self.paused

    def judge_silences(self, caller: FakeCaller) -> None:
        """No silence outlasts a heartbeat, none of the engine's the idle deadline; none is cut."""
        times = caller.chunk_times
        pauses = [after - before for before, after in pairwise(times)]
        assert all(pause <= self.server.heartbeat_interval_s + TICK for pause in pauses), pauses
        real = [at for data, at in zip(caller.chunks, times, strict=True) if data != BEAT]
        silences = [after - before for before, after in pairwise(real)]
        assert all(silence <= self.server.idle_timeout_s + TICK for silence in silences), silences
        if silences and b'"code":"idle_timeout"' in caller.received:
            assert silences[-1] >= self.server.idle_timeout_s - TICK, "cut before its time"


async def scenario(rng: Random, reached: Reached) -> None:
    """A handful of requests, whatever may happen to them, and a look at what is left."""
    with capture_logs() as lines:
        await _live(rng, reached)
    assert not [line for line in lines if line["event"] == "exchange_failed"], "a bug"


async def _live(rng: Random, reached: Reached) -> None:
    disk = Disk(lambda: rng.random() < 0.1)
    keeper = IntentKeeper(Intents(), disk.save)
    async with open_small_house(draw_config(rng), make_engine=Engine, intents=keeper) as small:
        world, books = World(rng, small, disk, reached), Books(small)
        world.set_up()
        trio.lowlevel.add_instrument(books)
        try:
            async with trio.open_nursery() as outer:
                outer.start_soon(world.operator.work)
                async with trio.open_nursery() as callers:
                    for number in range(rng.randint(1, 8)):
                        callers.start_soon(world.call, number)
                    await world.end_early(callers.cancel_scope)
            await agreed(small, disk)
        finally:
            trio.lowlevel.remove_instrument(books)
        books.close()
        reached["looks at the books"] += books.looks
        await small.assert_at_rest()
        world.judge()
