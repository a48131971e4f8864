"""Quiesce, drain and readmit on real sockets: under load, over a kill, from the command line."""

import json
import signal
from functools import partial
from typing import Any

import httpx
import pytest
import trio

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.router_client import MAX_REPLY_BYTES, Question, ask_router
from anvil_trio.demo.slots import Pace
from tests.support.running_router import (
    TOKEN,
    Kind,
    RunningRouter,
    eventually,
    open_engines,
    open_router,
    raw_client,
)
from tests.wire.demo.commands import ran

pytestmark = pytest.mark.wire
kinds = pytest.mark.parametrize("kind", ["replica", "direct"])
PATH = "/v1/admin/transition"
CHAT = "/v1/chat/completions"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
BODY = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
SLOW = Pace(tokens_per_second=5.0)
LIMIT = "admission_state_path = 'state.json'\n"


async def order(router: RunningRouter, action: str, **more: object) -> dict[str, object]:
    """One order that is applied; its result."""
    body = {"action": action, "tier_id": "chat", "confirm": True, "dry_run": False, **more}
    async with httpx.AsyncClient(base_url=router.base_url, headers=HEADERS, timeout=60) as client:
        reply = await client.post(PATH, json=body)
    assert reply.status_code == 200, reply.text
    assert reply.headers["cache-control"] == "no-store"
    result: dict[str, object] = reply.json()["result"]
    return result


async def row(router: RunningRouter) -> dict[str, object]:
    """The tier's row in the status."""
    page = await router.get(PATH)
    tiers = page["tiers"]
    assert isinstance(tiers, list)
    found: dict[str, object] = tiers[0]
    return found


async def chat(router: RunningRouter) -> httpx.Response:
    """One short request."""
    async with httpx.AsyncClient(base_url=router.base_url, headers=HEADERS, timeout=30) as client:
        return await client.post(CHAT, json=BODY)


@kinds
async def test_quiesce_under_load(kind: Kind, tmp_path):
    """R011: new ones are refused, the running stream ends, and the drain answers then."""
    async with (
        open_engines(kind, pace=SLOW) as urls,
        open_router(tmp_path, urls) as router,
        raw_client(router) as client,
    ):
        await client.send_chat(max_tokens=8)
        await client.read_until(b"data: ")
        snapshot = await order(router, "quiesce", reason="upgrade")
        assert (snapshot["state"], snapshot["active_requests"]) == ("quiesced", 1)
        drained: list[dict[str, Any]] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_keep, partial(order, router, "drain", timeout=30), drained)
            await eventually(partial(_drains, router))
            refused = await chat(router)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            status = await router.get("/v1/router/status")
            capacity = await router.get("/v1/models/capacity")
            assert '"state":"quiesced"' in _text(status)
            assert '"state":"quiesced"' in _text(capacity)
            assert '"draining":true' in _text(capacity)
            assert drained == []
            assert b"data: [DONE]" in await client.read_until(b"0\r\n\r\n")
        assert drained[0]["drained"] is True
        assert drained[0]["snapshot"]["active_requests"] == 0
        readmitted = await order(router, "readmit")
        assert (readmitted["readmitted"], readmitted["reason"]) == (True, "readiness_passed")
        assert (await chat(router)).status_code == 200


async def test_waiting_requests_are_refused_at_once(tmp_path):
    """Decision 4: quiescing empties the line, long before admission_timeout_s."""
    async with (
        open_engines("direct", pace=SLOW) as urls,
        open_router(tmp_path, urls, tier_settings="max_concurrency = 1\n") as router,
        raw_client(router) as client,
    ):
        await client.send_chat(max_tokens=20)
        await client.read_until(b"data: ")
        answers: list[httpx.Response] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_keep, partial(chat, router), answers)
            await eventually(partial(_waits, router))
            began = trio.current_time()
            await order(router, "quiesce")
        assert answers[0].status_code == 503
        assert trio.current_time() - began < 2


async def test_a_quiesced_member_gets_nothing(tmp_path):
    """R011: every request goes to the other member, and the member drains alone."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        await order(router, "quiesce", member_id="a")
        for _ in range(4):
            assert (await chat(router)).status_code == 200
        await eventually(lambda: _recorded(router, 4))
        assert {record["replica_member_id"] for record in router.records()} == {"b"}
        assert (await order(router, "drain", member_id="a"))["drained"]
        assert (await order(router, "readmit", member_id="a"))["readmitted"]


@kinds
async def test_a_kill_does_not_forget_what_was_quiesced(kind: Kind, tmp_path):
    """Killed and started anew it is still quiesced; a fresh pass brings it back for good."""
    async with open_engines(kind) as urls:
        async with open_router(tmp_path, urls, settings=LIMIT) as router:
            await order(router, "quiesce", reason="upgrade")
            router.process.send_signal(signal.SIGKILL)
            await router.process.wait()
        async with open_router(tmp_path, urls, settings=LIMIT) as router:
            found = await row(router)
            assert (found["state"], found["reason"], found["ready"]) == (
                "quiesced",
                "upgrade",
                True,
            )
            assert (await chat(router)).status_code == 503
            assert (await order(router, "readmit"))["readmitted"]
            assert (await chat(router)).status_code == 200
            router.process.send_signal(signal.SIGKILL)
            await router.process.wait()
        async with open_router(tmp_path, urls, settings=LIMIT) as router:
            assert (await row(router))["state"] == "admitting"
            assert (await chat(router)).status_code == 200


async def test_whoever_leaves_ends_its_drain(tmp_path):
    """Decision 17: the client closes its socket, and within a second nothing drains."""
    async with (
        open_engines(pace=SLOW) as urls,
        open_router(tmp_path, urls) as router,
        raw_client(router) as client,
    ):
        await client.send_chat(max_tokens=1000)
        await client.read_until(b"data: ")
        await order(router, "quiesce")
        body = json.dumps({"action": "drain", "tier_id": "chat", "timeout": 600}).encode()
        async with raw_client(router) as operator:
            await operator.stream.send_all(
                f"POST {PATH} HTTP/1.1\r\nhost: r\r\nauthorization: Bearer {TOKEN}\r\n"
                f"content-length: {len(body)}\r\n\r\n".encode()
                + body
            )
            await eventually(partial(_drains, router))
        left_at = trio.current_time()
        await eventually(partial(_rests, router))
        assert trio.current_time() - left_at < 1


async def test_the_commands_of_an_operator(tmp_path):
    """From quiesce to readmit, with the documented statuses; no argument is ever shown."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:

        async def told(*words: str, **environ: str):
            variables = {
                "ANVIL_ROUTER_URL": router.base_url,
                "ANVIL_ROUTER_TOKEN": TOKEN,
                **environ,
            }
            done = await trio.to_thread.run_sync(lambda: ran("router", *words, **variables))
            return done.returncode, done.stdout, done.stderr

        tier = ("--tier", "chat")
        members = "chat/a: admitting, 0 running\nchat/b: admitting, 0 running\n"
        assert await told("transition-status") == (
            0,
            "chat: admitting, 0 running, ready\n" + members,
            "",
        )
        status, out, _ = await told("quiesce", *tier, "--reason", "upgrade")
        assert (status, out) == (3, "")
        assert await told("quiesce", *tier, "--reason", "upgrade", "--confirm") == (
            0,
            "chat: quiesced (upgrade), 0 running\n" + members,
            "",
        )
        assert (await told("drain", *tier, "--timeout", "5"))[0] == 0
        status, out, _ = await told("readmit", *tier, "--member", "a", "--confirm", "--json")
        assert (status, json.loads(out)["ok"]) == (0, True)
        assert (await told("readmit", *tier, "--confirm"))[1] == (
            "chat: admitting, 0 running, ready\n" + members
        )
        status, out, err = await told("drain", "--tier", "canary")
        assert (status, out, err.split(":")[0]) == (1, "", "invalid_transition")
        assert "canary" not in err
        status, _, err = await told("transition-status", ANVIL_ROUTER_TOKEN="canary")
        assert (status, err.split(":")[0]) == (4, "router_access_denied")
        assert "canary" not in err


async def test_the_client_follows_nothing_and_reads_no_more_than_it_must():
    """A redirect, an endless answer and one that drips are transport failures."""
    big = b"x" * (MAX_REPLY_BYTES + 1)
    for reply, code in [
        (
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "router_http_error",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(big) + big,
            "router_response_oversized",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", "router_response_invalid"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", "router_unreachable"),
    ]:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, partial(_answer, reply), listeners)
            port = listeners[0].socket.getsockname()[1]
            question = Question(f"http://127.0.0.1:{port}", "t", PATH, {}, None, 1.0)
            with pytest.raises(CommandFailed) as caught:
                await ask_router(question)
            assert caught.value.failure.code == code
            nursery.cancel_scope.cancel()


async def _answer(reply: bytes, stream: trio.SocketStream) -> None:
    await stream.receive_some(65_536)
    try:
        await stream.send_all(reply)
        await trio.sleep_forever()
    except trio.BrokenResourceError:
        return


def _text(page: object) -> str:
    return json.dumps(page, separators=(",", ":"))


async def _keep(work, answers) -> None:
    answers.append(await work())


async def _drains(router) -> bool:
    return (await row(router))["draining"] is True


async def _rests(router) -> bool:
    return (await row(router))["draining"] is False


async def _waits(router) -> bool:
    return bool(await router.counts() == (1, 1))


async def _recorded(router, count: int) -> bool:
    return bool(len(router.records()) == count)
