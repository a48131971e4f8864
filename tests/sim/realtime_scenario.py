"""Whole sessions in one small world: clients, engines, ends and clock draw from one seed."""

import json
from random import Random

import trio
from structlog.testing import capture_logs
from trio_websocket import WebSocketConnection

from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.realtime.handshake import Wanted
from anvil_trio.realtime.relay import HURRY_S
from anvil_trio.realtime.run import FAREWELL_S
from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import Stage, open_stage
from tests.sim.books import Books
from tests.support.fake_upstream import Dial
from tests.support.sim import Reached
from tests.support.small_house import ALIAS, TIER, config_of, direct_tier, replica_tier

__all__ = ["RARE", "SERVER", "scenario"]

SERVER = ServerSettings(
    admission_timeout_s=10,
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
    max_event_bytes=4096,
    max_concurrency=4,
    client_limits={"one": 1, "two": 2},
)
LIMIT_S = 3 + 10 + 200 + 30 + 20 + HURRY_S + FAREWELL_S + 2
TICK = 1e-6
CODES = (1000, 1001, 3000, 4999, 1008, 1011)
RARE = (
    "success",
    "disconnected",
    "timeout",
    "error",
    "rejected",
    "cancelled",
    *(f"told {code}" for code in ("upstream_error", "idle_timeout", "shutting_down")),
    *(f"refused {code}" for code in ("client_concurrency_exhausted", "service_unavailable")),
    *(f"closed {code}" for code in (1000, 1001, 1008, 1011, 4999)),
    "heard everything",
    "said everything",
)


class World:
    """One seed's house, clients and engines."""

    def __init__(self, rng: Random, stage: Stage, reached: Reached) -> None:
        self.rng, self.stage, self.reached = rng, stage, reached
        self.clients: list[FakeClient] = []
        self.cancelled: set[FakeClient] = set()
        self.unread: set[FakeClient] = set()
        self.said: dict[str, int] = {}  # how much each engine's session had said
        self.content: set[FakeClient] = set()

    def set_up(self) -> None:
        """Engines that behave as drawn."""
        rng = self.rng
        for engine in self.stage.small.engines.values():
            end = EngineEnd(self.stage.nursery, self.behave)
            if rng.random() < 0.1:
                end = EngineEnd(self.stage.nursery, refuse=(rng.choice((401, 429, 503)), b"{}"))
            engine.serve_stream = end
            if rng.random() < 0.1:
                engine.dial = rng.choice((Dial.REFUSED, Dial.CONNECT_STALLS))
        if rng.random() < 0.3:
            members = dict.fromkeys(self.stage.small.generation.config.tiers[0].member_ids, 1)
            self.stage.small.house.tiers[TIER].reconfigure(members, None)

    async def behave(self, connection: WebSocketConnection) -> None:
        """One engine's side of one session: it numbers what it says, and ends as drawn."""
        rng = self.rng
        for number in range(rng.randint(0, 6)):
            await trio.sleep(rng.choice((0, 0, 0.01, 1, 8, 25)))
            await connection.send_message(f"engine {number}")
        match rng.randrange(6):
            case 0:
                await connection.aclose(rng.choice(CODES), "words of its own")
            case 1:
                await trio.aclose_forcefully(connection._stream)
            case 2:
                await trio.sleep_forever()
            case 3:
                for _ in range(40):
                    await connection.send_message("x" * 4000)
                await trio.sleep_forever()
            case _:
                while True:
                    said = await connection.get_message()
                    await connection.send_message(f"echo {said!s}")

    async def flap(self) -> None:
        """Members come and go, and now and then the tier is quiesced for a while."""
        rng, small = self.rng, self.stage.small
        members = small.generation.config.tiers[0].member_ids
        handle = small.house.tiers[TIER]
        for _ in range(rng.randint(0, 4)):
            small.ready(*(each for each in members if rng.random() < 0.5))
            handle.set_quiesced(rng.random() < 0.2)
            await trio.sleep(rng.choice((0, 0.01, 1, 3)))
        handle.set_quiesced(False)
        small.ready(*members)

    async def call(self, _: int) -> None:
        """One client, with its habits."""
        rng = self.rng
        await trio.sleep(rng.choice((0, 0, 0.01, 2)))
        client = FakeClient()
        self.clients.append(client)
        wanted = Wanted(ALIAS if rng.random() < 0.95 else "llm.unknown")
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.habits, client, scope)
                name = rng.choice(("one", "two", "_legacy"))
                began_at = trio.current_time()
                await self.stage.serve(client, wanted, name=name)
                assert trio.current_time() - began_at < LIMIT_S, "nothing lasts for ever"
                nursery.cancel_scope.cancel()
        if client.left_at is not None and not scope.cancelled_caught:
            assert trio.current_time() <= client.left_at + TICK, "it went on for one that had left"

    async def habits(self, client: FakeClient, scope: trio.CancelScope) -> None:
        """It talks, may stop reading, and ends as drawn."""
        rng = self.rng
        await client.accepted.wait()
        for number in range(rng.randint(0, 5)):
            client.say(rng.choice((f"client {number}", b"client")))
            await trio.sleep(rng.choice((0, 0, 0.01, 1, 5)))
        if rng.random() < 0.2:
            self.unread.add(client)
            client.stop_reading()
            await trio.sleep(rng.choice((1, 16, 300)))
            client.read_on()
        await trio.sleep(rng.choice((0, 0.01, 1, 9)))
        match rng.randrange(8):
            case 0 | 1:
                client.leave()
            case 2 | 3 | 4:
                self.content.add(client)
                client.goodbye(rng.choice((1000, 1005, 4000)))
            case 5:
                self.cancelled.add(client)
                scope.cancel()
            case 6:
                self.stage.small.house.exchanges.shut_down()
            case _:
                await trio.sleep_forever()

    def judge(self) -> None:
        """One record per session, at most one attempt, an end for whoever stayed."""
        records = self.stage.small.records
        assert len(records) == self.stage.small.begun == len(self.clients), "one record"
        for record in records:
            assert len(record.attempts) <= 1, "at most one attempt"
            assert record.kind == "realtime"
            self.reached[record.workload_outcome] += 1
        for engine in self.stage.small.engines.values():
            assert engine.opened == engine.closed, "a connection was left"
        for client in self.clients:
            self.judge_client(client)

    def judge_client(self, client: FakeClient) -> None:
        """What one client was told, and that it was told enough."""
        if client.refusal is not None:
            self.reached[f"refused {client.refusal.code}"] += 1
            return
        events = [one for one in client.received if isinstance(one, str)]
        errors = [one for one in events if one.startswith('{"type":"error"')]
        assert len(errors) <= 1, "one error"
        assert not errors or client.received[-1] == errors[0], "nothing follows an error"
        numbers = [one for one in events if one.startswith("engine ")]
        assert numbers == [f"engine {n}" for n in range(len(numbers))], "a message was lost"
        self.reached["heard everything"] += bool(numbers)
        self.reached["said everything"] += any(one.startswith("echo") for one in events)
        if errors:
            self.reached[f"told {json.loads(errors[0])['error']['code']}"] += 1
        if client.closed is not None:
            self.reached[f"closed {client.closed.code}"] += 1
            assert client.closed.reason not in {"words of its own"}
        is_over = client.left_at is not None or client in self.content
        if not (is_over or client in self.cancelled or client in self.unread):
            assert client.closed is not None, "a client that stayed was not told the end"


def draw_config(rng: Random) -> RouterConfig:
    """One tier with sessions, direct or of two members."""
    if rng.random() < 0.5:
        return config_of(direct_tier(realtime=True), server=SERVER)
    return config_of(replica_tier(realtime=True), server=SERVER)


async def scenario(rng: Random, reached: Reached) -> None:
    """A handful of sessions, whatever may happen to them, and a look at what is left."""
    with capture_logs() as lines:
        async with open_stage(draw_config(rng)) as stage:
            world, books = World(rng, stage, reached), Books(stage.small)
            world.set_up()
            trio.lowlevel.add_instrument(books)
            try:
                async with trio.open_nursery() as clients:
                    clients.start_soon(world.flap)
                    for number in range(rng.randint(1, 6)):
                        clients.start_soon(world.call, number)
            finally:
                trio.lowlevel.remove_instrument(books)
            books.close()
            await stage.small.assert_at_rest()
            world.judge()
    assert not [line for line in lines if line["event"] == "exchange_failed"], "a bug"
