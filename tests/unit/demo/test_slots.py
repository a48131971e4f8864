"""The slot model, on virtual time."""

import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.demo.slots import Pace, SlotPool

PACE = Pace(tokens_per_second=10, prefill_tokens_per_second=100)


async def generate(pool, tokens, log=None, name=None):
    """Run one request to its end."""
    async with pool.slot(prompt_tokens=50) as slot:
        await slot.written(tokens)
    if log is not None:
        log.append((name, trio.current_time()))


async def test_a_reply_takes_its_prefill_and_its_tokens(autojump_clock):
    """50 prompt tokens at 100/s and 20 tokens at 10/s take 2.5 seconds."""
    pool = SlotPool(1, PACE)
    await generate(pool, 20)
    assert trio.current_time() == 2.5
    assert (pool.running, pool.waiting, pool.finished) == (0, 0, 1)


async def test_tokens_come_one_by_one_at_the_slots_pace(autojump_clock):
    """Each token is due a tenth of a second after the one before, counted from the start."""
    seen = []
    async with SlotPool(1, PACE).slot(prompt_tokens=0) as slot:
        for written in range(1, 4):
            await slot.written(written)
            seen.append(round(trio.current_time(), 9))
    assert seen == [0.1, 0.2, 0.3]


async def test_a_late_token_does_not_delay_the_next(autojump_clock):
    """Tokens are due at fixed moments, so lateness never adds up."""
    async with SlotPool(1, PACE).slot(prompt_tokens=0) as slot:
        await slot.written(1)
        await trio.sleep(0.15)
        await slot.written(2)
        await slot.written(3)
    assert round(trio.current_time(), 9) == 0.3


async def test_no_more_requests_run_than_there_are_slots(autojump_clock):
    """Five equal requests on two slots end in three waves: that is what throughput means."""
    pool = SlotPool(2, PACE)
    log: list[tuple[object, float]] = []
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(generate, pool, 5, log, number)
        await wait_all_tasks_blocked()
        assert (pool.running, pool.waiting) == (2, 3)
    assert [moment for _, moment in log] == [1, 1, 2, 2, 3]
    assert pool.finished == 5


async def test_waiting_requests_run_in_the_order_they_came(autojump_clock):
    """With one slot the requests end in the order in which they asked."""
    pool = SlotPool(1, PACE)
    log: list[tuple[object, float]] = []
    async with trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(generate, pool, 5, log, number)
            await wait_all_tasks_blocked()
    assert [name for name, _ in log] == list(range(6))


async def test_a_cancelled_request_frees_its_slot_at_once(autojump_clock):
    """The next in line starts in the moment in which the running one is cancelled."""
    pool = SlotPool(1, PACE)
    log: list[tuple[object, float]] = []
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as leaver:
            nursery.start_soon(generate, pool, 5, log, "next")
            async with pool.slot(0) as slot:
                await wait_all_tasks_blocked()
                leaver.cancel()
                await slot.written(100)
    assert log == [("next", 1.0)]
    assert pool.finished == 1


async def test_a_cancelled_waiter_leaves_the_line(autojump_clock):
    """Who leaves while waiting takes no slot and is not counted as finished."""
    pool = SlotPool(1, PACE)
    async with pool.slot(0):
        with trio.move_on_after(1) as patience:
            await generate(pool, 5)
        assert patience.cancelled_caught
        assert (pool.running, pool.waiting, pool.finished) == (1, 0, 0)
