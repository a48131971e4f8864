"""Engines on loopback, good ones and bad ones: every planted fault is found by its own check."""

from functools import partial

import pytest
import trio

from anvil_trio.conform.asking import Asker, Target
from anvil_trio.conform.reply import Trouble
from anvil_trio.conform.verdict import Outcome
from anvil_trio.conform.voices import CHAT
from anvil_trio.demo.slots import Pace
from anvil_trio.evals.patience import Patience, watch_idle
from anvil_trio.evals.tier_block import gather_settings, is_usable
from tests.support.bent import ENGINE_FAULTS, open_bent_engine
from tests.support.loose_engine import STREAM_HEAD, chunk, open_loose_engine
from tests.wire.evals.subjects import checked_engine, failures

pytestmark = pytest.mark.wire
SLOW = Pace(tokens_per_second=150.0, prefill_tokens_per_second=100_000.0)


async def test_a_good_engine_passes_everything():
    """Metrics and cancellation included; its settings follow."""
    async with open_bent_engine(pace=SLOW) as url:
        results = await checked_engine(url)
    assert {one.verdict.outcome for one in results} == {Outcome.PASSED}
    assert gather_settings(results) == {
        "tool_support": True,
        "health_path": "/health",
        "model_identity": True,
        "context_limit": 2048,
        "engine": "vllm",
    }


@pytest.mark.parametrize("name", ENGINE_FAULTS)
async def test_a_planted_fault_is_found_by_its_check(name):
    """And by no other."""
    async with open_bent_engine(name, pace=SLOW) as url:
        results = await checked_engine(url)
    assert failures(results).keys() == set(ENGINE_FAULTS[name].checks)


@pytest.mark.parametrize(
    "names",
    [
        ("cut", "deaf", "wrong-counts"),
        ("broken-calls", "closes", "unknown-words", "tags"),
        ("other-model", "prose-for-schema", "half-metrics", "no-length"),
    ],
)
async def test_a_bad_engine_with_several_faults_shows_them_all(names):
    """None hides another, and what cannot work becomes no tier."""
    async with open_bent_engine(*names, pace=SLOW) as url:
        results = await checked_engine(url)
    found = failures(results).keys()
    wanted = {check for name in names for check in ENGINE_FAULTS[name].checks}
    # Without a whole stream there is nothing to compare its counts with.
    assert found == wanted - ({"usage"} if "cut" in names else set())
    assert is_usable(results) is ("tags" in names)
    if "tags" in names:
        assert gather_settings(results)["tool_support"] is False
        assert gather_settings(results)["upstream_keepalive_s"] == 0.0


async def _silent(_engine, stream):
    await trio.sleep_forever()


async def _garbage(_engine, stream):
    await stream.send_all(b"\x00\xff\xfe garbage\r\n\r\n" * 100)
    await stream.aclose()


async def _abrupt(_engine, stream):
    await stream.aclose()


async def _endless(engine, stream):
    await engine.flood(stream)


async def _odd(_engine, stream):
    body = b'{"choices":[null,{"delta":[]}],"error":null,"usage":"x","data":3,"output":{}}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
    data = b"data: " + body + b"\n\n"
    await stream.send_all(head % len(data) + data)


async def _dripping(_engine, stream):
    await stream.send_all(STREAM_HEAD)
    while True:
        await stream.send_all(chunk(b": still here\n\n"))
        await trio.sleep(0.02)


@pytest.mark.parametrize("answer", [_silent, _garbage, _abrupt, _endless, _odd, _dripping])
async def test_a_hostile_engine_neither_hangs_nor_crashes_it(answer):
    """Silence, garbage, resets, floods, odd values, drips: each check has a verdict, in time."""
    async with open_loose_engine(answer) as engine:
        with trio.fail_after(50):
            results = await checked_engine(engine.url, timeout_s=0.5, limit_s=8)
    assert {"unary", "stream", "first_token"} - failures(results).keys() in (set(), {"first_token"})
    assert not is_usable(results)


async def test_an_engine_that_is_not_there_fails_every_request():
    """With a value, and at once."""
    asker = Asker(Target("http://127.0.0.1:9", "m"), timeout_s=5)
    assert (await asker.ask(asker.get("/health"))).trouble is Trouble.REFUSED

    async def work() -> int:
        raise AssertionError

    assert await asker.during(asker.post(CHAT, {}), work) is None
    assert await watch_idle(asker.get("/health"), answer_s=1, watch_s=1) is None


async def test_an_idle_connection_is_watched():
    """Kept while nobody closes it, and timed if somebody does."""

    async def serve(stream, *, close_after_s):
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        await trio.sleep(close_after_s)
        await stream.aclose()

    async def watched(close_after_s):
        async with trio.open_nursery() as nursery:
            serving = partial(
                trio.serve_tcp, partial(serve, close_after_s=close_after_s), 0, host="127.0.0.1"
            )
            [listener] = await nursery.start(serving)
            port = listener.socket.getsockname()[1]
            asker = Asker(Target(f"http://127.0.0.1:{port}", "m"), timeout_s=5)
            found = await watch_idle(asker.get("/"), answer_s=5, watch_s=0.6)
            nursery.cancel_scope.cancel()
        return found

    kept = await watched(30)
    assert kept is not None
    assert (kept.is_kept, kept.is_open) == (True, True)
    closed = await watched(0.25)
    assert isinstance(closed, Patience)
    assert (closed.is_kept, closed.is_open) == (True, False)
    assert 0.2 <= closed.open_s < 0.6
