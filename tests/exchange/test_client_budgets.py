"""Client budgets over whole exchanges: who is refused, and when a place is free again (R009)."""

import json
from collections.abc import Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.config.model import ServerSettings
from anvil_trio.names import LEGACY_CLIENT
from tests.support.chunks import (
    DONE,
    ROLE,
    STOP,
    good_reply,
    good_stream,
    seen_text,
    stream,
    text,
)
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import Fault
from tests.support.small_house import (
    SmallHouse,
    chat_body,
    config_of,
    open_small_house,
    replica_tier,
)


def house(client_limits: dict[str, int], *, ceiling: int | None = None, **server):
    """A small house with budgets."""
    settings = ServerSettings(auth_env="TOKEN", client_limits=client_limits, **server)
    return open_small_house(config_of(replica_tier(max_concurrency=ceiling), server=settings))


class UnreadCaller(FakeCaller):
    """A caller whose body nobody may ask for."""

    async def read_body(self, max_bytes: int, *, stall_s: float, total_s: float):
        raise AssertionError("the body was asked for")


class SilentCaller(FakeCaller):
    """A caller that never sends its body."""

    has_body = False

    async def read_body(self, max_bytes: int, *, stall_s: float, total_s: float):
        await trio.sleep_forever()


async def assert_exhausted(small: SmallHouse, client: str) -> None:
    """One more request of this client is a 429 in no time, its body unread."""
    began, records = trio.current_time(), len(small.records)
    caller = await small.serve(UnreadCaller(), client)
    assert trio.current_time() == began
    assert caller.status == 429
    assert caller.headers[b"retry-after"] == b"1"
    error = json.loads(caller.received)["error"]
    assert (error["code"], error["type"]) == ("client_concurrency_exhausted", "rate_limit_error")
    record = small.records[records]
    assert (record.client_id, record.workload_outcome) == (client, "rejected")
    assert (record.attempts, record.replica_member_id) == ((), None)


async def test_a_client_at_its_budget_gets_429_at_once(autojump_clock):
    """The third of two: 429, Retry-After 1, no body read, nothing reserved; others go on."""
    async with house({"a": 2}) as small:
        for engine in small.engines.values():
            engine.chat = [good_stream("x", gap_s=5.0)]
            engine.chat_default = good_reply()
        callers = [FakeCaller(chat_body(stream=True)) for _ in range(2)]
        async with trio.open_nursery() as nursery:
            for caller in callers:
                nursery.start_soon(small.serve, caller, "a")
            await trio.sleep(1)
            attempts = [engine.attempts for engine in small.engines.values()]
            await assert_exhausted(small, "a")
            assert [engine.attempts for engine in small.engines.values()] == attempts
            assert (await small.chat(client="b")).status == 200
            assert (await small.chat(client=LEGACY_CLIENT)).status == 200
        assert [seen_text(caller.received) for caller in callers] == ["x", "x"]
        assert (await small.chat(client="a")).status == 200
        await small.assert_at_rest()


async def test_a_waiting_request_counts(autojump_clock):
    """A request in the tier's line is as much of its client's budget as one that runs."""
    async with house({"a": 2}, ceiling=1) as small:
        for engine in small.engines.values():
            engine.chat = [good_stream("x", gap_s=5.0)]
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)), "a")
            await trio.sleep(1)
            assert (await small.snapshot()).waiting == 1
            await assert_exhausted(small, "a")
        await small.assert_at_rest()


async def test_all_who_use_the_operators_token_share_one_budget(autojump_clock):
    """`_legacy` groups them; a client with a credential of its own is none of them."""
    async with house({LEGACY_CLIENT: 1}) as small:
        small.engine("a").chat = [good_stream("x", gap_s=5.0)]
        small.engine("b").chat_default = good_reply()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)), LEGACY_CLIENT)
            await trio.sleep(1)
            await assert_exhausted(small, LEGACY_CLIENT)
            assert (await small.chat(client="desktop")).status == 200
        await small.assert_at_rest()


async def test_an_unlisted_client_meets_the_global_limit_only(autojump_clock):
    """It may fill the house; then it is told that the house is full."""
    async with house({"a": 1}, max_concurrency=3) as small:
        for engine in small.engines.values():
            engine.chat_default = good_stream("x", gap_s=5.0)
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)), "free")
            await trio.sleep(1)
            full = await small.serve(UnreadCaller(), "free")
            assert (full.status, json.loads(full.received)["error"]["code"]) == (503, "server_busy")
            assert (await small.serve(UnreadCaller(), "a")).status == 503
        await small.assert_at_rest()


def never_answers(small: SmallHouse) -> FakeCaller:
    """A stream that stalls after its first event."""
    small.engine("a").chat = [stream(ROLE, Fault.STALL)]
    return FakeCaller(chat_body(stream=True))


def waits_for_its_place(small: SmallHouse) -> FakeCaller:
    """No member was ever judged, so that the request waits in line."""
    return FakeCaller(chat_body())


def sends_no_body(small: SmallHouse) -> FakeCaller:
    """It has a permit and nothing else."""
    return SilentCaller()


@pytest.mark.parametrize("phase", [never_answers, waits_for_its_place, sends_no_body])
async def test_a_place_is_free_in_the_step_in_which_its_client_leaves(
    phase: Callable[[SmallHouse], FakeCaller], autojump_clock
):
    """Decision 17: streaming, in line or before its body, the budget is back without a wait."""
    settings = ServerSettings(auth_env="TOKEN", client_limits={"a": 1})
    is_ready = phase is not waits_for_its_place
    async with open_small_house(config_of(server=settings), is_ready=is_ready) as small:
        caller = phase(small)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller, "a")
            await trio.sleep(1)
            await assert_exhausted(small, "a")
            caller.leave()
            await wait_all_tasks_blocked()
            assert (await small.house.admission.inspect()).active == 0
            if not is_ready:
                small.ready("a", "b")
            for engine in small.engines.values():
                engine.chat_default = good_reply()
            assert (await small.chat(client="a")).status == 200
            assert trio.current_time() == 1
        await small.assert_at_rest()


class EndingCaller(FakeCaller):
    """Says when the end of its reply is handed over, which then takes as long as it likes."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body, is_direct=False)
        self.sees_the_end, self.may_end = trio.Event(), trio.Event()

    async def send(self, data: bytes) -> None:
        await super().send(data)
        if data.endswith(DONE):
            self.sees_the_end.set()

    async def end(self, data: bytes = b"") -> None:
        await super().end(data)
        self.sees_the_end.set()
        await self.may_end.wait()


@pytest.mark.parametrize(
    ("is_stream", "answer"),
    [
        (False, good_reply("x")),
        (True, good_stream("x")),
        (True, stream(ROLE, text("x"), STOP, DONE, Fault.STALL)),
        (True, stream(ROLE, text("x"), STOP)),
        (True, good_reply("x")),
    ],
    ids=["plain", "stream", "stream not closed", "stream without DONE", "plain as stream"],
)
async def test_who_has_seen_the_end_may_ask_again(is_stream, answer, autojump_clock):
    """The place is back before the last word is handed over, so nobody can ask too early."""
    async with house({"a": 1}, max_concurrency=1) as small:
        for engine in small.engines.values():
            engine.chat_default = answer
        caller = EndingCaller(chat_body(stream=is_stream))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller, "a")
            await caller.sees_the_end.wait()
            assert len(small.house.exchanges) == 1
            assert (await small.chat(client="a", stream=is_stream)).status == 200
            caller.may_end.set()
        assert seen_text(caller.received) == "x" or not is_stream
        await small.assert_at_rest()


async def test_an_expired_wait_gives_the_budget_back(autojump_clock):
    """503 admission_timeout, and the client may ask again at once."""
    async with house({"a": 2}, ceiling=1, admission_timeout_s=3) as small:
        small.engine("a").chat = [good_stream("x", gap_s=50.0)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)), "a")
            await trio.sleep(1)
            for _ in range(2):
                assert (await small.chat(client="a")).status == 503
            nursery.cancel_scope.cancel()
        await small.assert_at_rest()


async def test_budgets_leave_the_waiting_line_fair(autojump_clock):
    """FIFO within a client, round robin over clients, with budgets as without."""
    served = []
    async with house({"a": 4, "b": 2}, ceiling=1) as small:
        for engine in small.engines.values():
            engine.chat_default = good_stream("x", gap_s=1.0)

        async def ask(client: str, number: int) -> None:
            caller = FakeCaller(chat_body(stream=True))
            caller.on_chunk = lambda _: served.append((client, number))
            await small.serve(caller, client)

        async with trio.open_nursery() as nursery:
            for client, number in [*(("a", n) for n in range(4)), ("b", 0), ("b", 1), ("c", 0)]:
                nursery.start_soon(ask, client, number)
                await wait_all_tasks_blocked()
            await assert_exhausted(small, "a")
            await assert_exhausted(small, "b")
        assert list(dict.fromkeys(served)) == [
            ("a", 0), ("a", 1), ("b", 0), ("c", 0), ("a", 2), ("b", 1), ("a", 3),
        ]  # fmt: skip
        await small.assert_at_rest()
