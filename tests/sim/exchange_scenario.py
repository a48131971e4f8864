"""Whole exchanges in one small world: callers, engines, operator and clock draw from one seed."""

import json
import re
from random import Random

import trio
from structlog.testing import capture_logs

from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.names import MemberId
from tests.support.chunks import DONE, ROLE, STOP, good_reply, seen_text, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import (
    BROKEN_WRITE,
    END,
    REFUSED,
    SSE,
    STALLED_CONNECT,
    STALLED_WRITE,
    FakeCall,
    FakeUpstream,
    Fault,
    Head,
    Reply,
    Step,
    reply,
)
from tests.support.sim import Reached
from tests.support.small_house import (
    TIER,
    SmallHouse,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
    replica_tier,
)

__all__ = ["RARE", "scenario"]

SERVER = ServerSettings(
    admission_timeout_s=10,
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
    max_concurrency=4,
    client_limits={"one": 1, "two": 2},
)
LONGEST_MS = 1000 * (3 + 10 + 200 + 30 + 1)
"""A body, a wait, the total deadline, a caller that reads its last bytes at leisure."""
GAPS = (0.0, 0.0, 0.01, 1.0, 8.0, 15.0, 19.0, 25.0)
BEAT = b": keepalive\n"

RARE = (
    "success:served",
    "success:served while it paused",
    "success:left after [DONE]",
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
)


class Engine(FakeUpstream):
    """Checks that no more requests run on it than its ceiling allows."""

    limit: int | None = None

    async def send(self, request, body) -> FakeCall:
        call = await super().send(request, body)
        running = self.opened - self.closed
        assert self.limit is None or running <= self.limit, "a member above its ceiling"
        return call


class World:
    """One seed's house, callers and counters."""

    def __init__(self, rng: Random, small: SmallHouse, reached: Reached) -> None:
        self.rng, self.small, self.reached = rng, small, reached
        self.callers: list[FakeCaller] = []
        self.paused: set[FakeCaller] = set()
        self.cancelled: set[FakeCaller] = set()
        self.told = 0

    # engines

    def draw_reply(self, number: int) -> Reply:
        """A good answer, or one of the ways in which an engine fails."""
        rng = self.rng
        pieces: list[Step] = []
        for piece in (ROLE, *map(text, (f"<{number}:", "1,", "2,", "3,", "4>"))):
            pieces += [rng.choice(GAPS), piece]
        good: list[Step] = [Head(200, SSE), *pieces, STOP, DONE, END]
        fault: Step = rng.choice((*Fault, b"data: {oops\n\n", b": comment\n\n", END))
        cut = rng.randrange(1, len(good))
        endless: list[Step] = [8.0, text("...")] * 60
        return rng.choice((
            *[Reply(tuple(good))] * 5,
            *[Reply((*good[:cut], fault, *good[cut:]))] * 4,
            good_reply(f"<{number}:1,2,3,4>"),
            rng.choice((REFUSED, STALLED_CONNECT, STALLED_WRITE, BROKEN_WRITE)),
            reply(b"{}", status=rng.choice((400, 401, 429, 500, 503))),
            # the end comes in its own good time
            Reply((Head(200, SSE), *pieces, STOP, rng.choice(GAPS), DONE, Fault.STALL)),
            Reply((Head(200, SSE), ROLE, *endless)),
            Reply((Fault.STALL,)),
            Reply((Head(200, SSE), ROLE, text(f"<{number}:1,2,3,4>"), STOP, rng.choice((*Fault,)))),
        ))

    # callers

    async def call(self, number: int) -> None:
        """One caller, with its habits."""
        rng = self.rng
        await trio.sleep(rng.choice((0, 0, 0.01, 2, 20)))
        stream = rng.random() < 0.7
        body = chat_body(stream=stream)
        if rng.random() < 0.08:
            body = rng.choice((b"{", chat_body(model="llm.unknown")))
        caller = FakeCaller(body, body_delay_s=rng.choice((0, 0, 0, 0.01, 3)))
        self.callers.append(caller)
        if rng.random() < 0.15:
            act = rng.choice((caller.leave, caller.stop_reading, self.shut_down))
            caller.on_chunk = lambda data: act() if DONE in data else None
            self.paused.add(caller)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.habits, caller, scope)
                await self.small.serve(caller, rng.choice(("one", "two", "_legacy")))
                nursery.cancel_scope.cancel()
        if caller.left_at is not None and not scope.cancelled_caught:
            assert trio.current_time() == caller.left_at, "it went on for a caller that had left"

    def shut_down(self) -> None:
        """The end of a shutdown's bound, for all who are there."""
        self.small.house.exchanges.shut_down()

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

    # the operator

    async def operate(self) -> None:
        """Readiness flips, quiesce, drain, readmit, new ceilings."""
        rng, handle = self.rng, self.small.house.tiers[TIER]
        members = self.small.generation.config.tier(TIER).member_ids
        for _ in range(rng.randint(0, 4)):
            await trio.sleep(rng.choice((0, 0.01, 3, 15)))
            match rng.randrange(4):
                case 0:
                    self.small.ready(*(member for member in members if rng.random() < 0.6))
                case 1:
                    member = rng.choice((None, *members))
                    handle.set_quiesced(True, member_id=member)
                    with trio.move_on_after(rng.choice((0, 5, 400))) as patience:
                        await handle.drain(member)
                    if not patience.cancelled_caught:
                        self.reached["drained"] += 1
                    handle.set_quiesced(False, member_id=member)
                case 2:
                    self.set_ceilings(members, rng.choice((None, 1, 2)))
                case _:
                    self.small.ready(*members)
        self.small.ready(*members)

    def set_ceilings(self, members: tuple[MemberId, ...], each: int | None) -> None:
        """New ceilings; requests that run already may be more for a while."""
        for engine in self.small.engines.values():
            assert isinstance(engine, Engine)
            engine.limit = None
        self.small.house.tiers[TIER].reconfigure(
            dict.fromkeys(members, each), self.rng.choice((None, 1, 3))
        )

    async def check_snapshots(self) -> None:
        """At any moment members' counts sum to the tier's (R011), and clients' to the permits."""
        while True:
            snapshot = await self.small.snapshot()
            assert sum(member.active for member in snapshot.members) == snapshot.active
            door = await self.small.house.admission.inspect()
            assert sum(door.active_by_client.values()) == door.active <= SERVER.max_concurrency
            assert all(door.active_by_client.get(c, 0) <= n for c, n in SERVER.budgets.items())
            await trio.sleep(self.rng.choice((0.5, 3, 11)))

    # afterwards

    def judge(self) -> None:
        """One record per request, at most one attempt, the right answer to whoever stayed."""
        records = self.small.records
        assert len(records) == len(self.callers), "one record per request"
        for record in records:
            self.judge_record(record)
        for caller in self.callers:
            if caller not in self.cancelled:
                self.judge_caller(caller)
        for (_, member), engine in self.small.engines.items():
            chosen = [r for r in records if r.attempts and (r.replica_member_id or "") == member]
            assert engine.attempts <= len(chosen), "an engine was asked without a selection"

    def judge_record(self, record: DecisionRecord) -> None:
        """Attempts, waits and pairs of one record."""
        assert len(record.attempts) <= 1, "at most one attempt"
        reason = record.attempts[0].reason if record.attempts else "-"
        self.reached[f"{record.workload_outcome}:{reason}"] += 1
        assert record.latency_ms <= LONGEST_MS, "nothing lasts for ever"
        assert (record.admission_wait_ms or 0) <= 1000 * SERVER.admission_timeout_s

    def judge_caller(self, caller: FakeCaller) -> None:
        """A stream has exactly one end; a success is whole."""
        assert caller.taken_while_paused <= 2, "no back-pressure"  # what waits, and last words
        for code in re.findall(rb'"code":"(\w+)"', caller.received):
            self.reached[f"code:{code.decode()}"] += 1
        if caller.received.startswith(BEAT):
            self.reached["a beat sent the head"] += 1
        is_done, is_failed = DONE in caller.received, b'"error":' in caller.received
        if caller.has_left:
            if is_done:
                self.reached["success:left after [DONE]"] += 1
            return
        assert not (is_done and is_failed), "two ends"
        if caller in self.paused and not caller.has_ended:
            return  # given up while it did not read
        assert caller.has_ended, "a caller that stayed was not answered"
        if is_failed:
            return
        whole = seen_text(caller.received) if is_done else _unary_text(caller.received)
        assert re.fullmatch(r"<\d+:1,2,3,4>", whole), f"not whole: {whole}"
        if caller in self.paused:
            self.reached["success:served while it paused"] += 1


def _unary_text(received: bytes) -> str:
    content: str = json.loads(received)["choices"][0]["message"]["content"]
    return content


def _config(rng: Random) -> RouterConfig:
    if rng.random() < 0.25:
        return config_of(direct_tier(), server=SERVER)
    return config_of(replica_tier(members="abc"[: rng.choice((2, 2, 3))]), server=SERVER)


async def scenario(rng: Random, reached: Reached) -> None:
    """A handful of requests, whatever may happen to them, and a look at what is left."""
    with capture_logs() as lines:
        await _live(rng, reached)
    assert not [line for line in lines if line["event"] == "exchange_failed"], "a bug"


async def _live(rng: Random, reached: Reached) -> None:
    async with open_small_house(_config(rng), make_engine=Engine) as small:
        world = World(rng, small, reached)
        members = small.generation.config.tier(TIER).member_ids
        for engine in small.engines.values():
            engine.chat_default = world.draw_reply
        each = rng.choice((None, 1, 2))
        world.set_ceilings(members, each)
        for engine in small.engines.values():
            assert isinstance(engine, Engine)
            engine.limit = each
        async with trio.open_nursery() as outer:
            outer.start_soon(world.check_snapshots)
            async with trio.open_nursery() as nursery:
                for number in range(rng.randint(1, 8)):
                    nursery.start_soon(world.call, number)
                nursery.start_soon(world.operate)
                if rng.random() < 0.15:
                    await trio.sleep(rng.choice((0.01, 2, 12, 30)))
                    world.shut_down()
            outer.cancel_scope.cancel()
        await small.assert_at_rest()
        world.judge()
