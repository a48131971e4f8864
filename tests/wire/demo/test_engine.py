"""The engine on a real socket."""

import signal

import httpx
import pytest
import trio

from anvil_trio.demo.engine import Engine, EngineOptions
from anvil_trio.demo.serve import serve_engine
from anvil_trio.demo.slots import Pace
from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from tests.wire.demo.commands import ran, running, url_of

pytestmark = pytest.mark.wire

CHAT = {"model": "demo-model", "messages": [{"role": "user", "content": "hello"}]}


async def test_an_engine_answers_on_its_socket():
    """`serve_engine` starts with its URL; health, models and both kinds of chat answer there."""
    async with trio.open_nursery() as nursery:
        options = EngineOptions(pace=Pace(tokens_per_second=1_000))
        url = await nursery.start(serve_engine, options)
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            assert (await client.get("/health")).json() == {"status": "ok"}
            assert (await client.get("/v1/models")).json()["data"][0]["id"] == "demo-model"
            plain = await client.post("/v1/chat/completions", json=CHAT)
            stream = await client.post("/v1/chat/completions", json={**CHAT, "stream": True})
        assert plain.json()["choices"][0]["finish_reason"] == "stop"
        assert stream.text.endswith("data: [DONE]\n\n")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_client_that_leaves_frees_the_slot(is_stream):
    """The closed connection of a running request lets the waiting one run within a second."""
    engine = Engine(EngineOptions(slots=1, pace=Pace(tokens_per_second=0.1)))
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with trio.open_nursery() as nursery:
        await nursery.start(Server(engine, ServerOptions(), [listener]).run)
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
            leaver = trio.CancelScope()

            async def ask(scope):
                with scope:
                    body = {**CHAT, "stream": is_stream}
                    await client.post("/v1/chat/completions", json=body)

            nursery.start_soon(ask, leaver)
            await until(lambda: engine.slots.running == 1)
            nursery.start_soon(ask, trio.CancelScope())
            await until(lambda: engine.slots.waiting == 1)
            leaver.cancel()
            with trio.fail_after(1):
                await until(lambda: engine.slots.waiting == 0)
            assert (engine.slots.running, engine.slots.finished) == (1, 0)
            nursery.cancel_scope.cancel()


async def until(is_so):
    """Until `is_so` holds: what goes on in a socket has no event to wait for."""
    with trio.fail_after(10):
        while not is_so():
            await trio.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_engine_command_ends_at_a_signal(number):
    """`serve_until_signalled`: says where it listens, answers, and ends with status 0."""
    with running("demo-engine", "--model", "m") as engine:
        url = url_of(engine.line())
        listed = httpx.get(f"{url}/v1/models", trust_env=False, timeout=10).json()
        assert listed["data"][0]["id"] == "m"
        assert engine.ended(number) == (0, "", "")


def test_a_port_that_is_taken_is_one_clear_line():
    """Status 1, and no traceback."""
    with running("demo-engine") as engine:
        port = url_of(engine.line()).rpartition(":")[2]
        done = ran("demo-engine", "--port", port)
    assert done.returncode == 1
    assert done.stderr == "The address is already in use; --port 0 takes any free port.\n"
