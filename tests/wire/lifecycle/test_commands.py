"""The `serves` commands on real processes: groups, modes without a router, and who is asked."""

import json
import socket
import sys
from functools import partial

import pytest
import trio

from anvil_trio.cli.router_orders import HttpOrders
from anvil_trio.lifecycle.faults import LifecycleFailed
from tests.lifecycle.samples import DUO, native
from tests.unit.config.toml import config, direct
from tests.wire.demo.commands import ran

pytestmark = pytest.mark.wire

SERVER = (
    "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), "
    "http.server.SimpleHTTPRequestHandler).serve_forever()"
)


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def home(tmp_path):
    """Three small servers, one of which takes both GPUs, and an alias for one of them."""
    web = json.dumps([sys.executable, "-c", SERVER, "{port}"])
    told = {"command": web, "health": '"/"'}
    text = native("west", port=str(free_port()), gpu_role='"left"', groups='["day"]', **told)
    text += native("east", port=str(free_port()), gpu_role='"right"', groups='["day"]', **told)
    text += native("duo", port=str(free_port()), **DUO, **told)
    gone = json.dumps([sys.executable, "-c", "pass"])
    text += native("gone", port=str(free_port()), command=gone, groups='["odd"]')
    text += native("odd-one", port=str(free_port()), groups='["odd"]', router_tier='"one"', **told)
    (tmp_path / "serves.toml").write_text(text)
    tier = direct(id='"one"')
    (tmp_path / "router.toml").write_text(config(tier, routes='{ "llm.one" = "one" }'))
    yield tmp_path
    assert called(tmp_path, "down", "all", "--confirm")[0] == 0


def called(home, *words):
    """One command: its status and the object that it answered with."""
    ended = ran("serves", *words, "--json", ANVIL_SERVING_HOME=str(home))
    assert ended.stderr == ""
    return ended.returncode, json.loads(ended.stdout)


def states(home) -> dict[str, str]:
    """Which serves run."""
    rows = called(home, "status")[1]["data"]["serves"]
    return {row["name"]: row["state"] for row in rows if row["state"] == "running"}


def test_of_a_group_some_may_be_up_and_some_not(home):
    """One that fails keeps no other from starting; the status says that it is a part."""
    status, answer = called(home, "up", "odd", "--confirm")
    assert (status, answer["error"]["code"], answer["error"]["class"]) == (
        5,
        "serves_partial",
        "partial",
    )
    assert answer["data"]["serves"] == [
        {"name": "gone", "done": False, "code": "serve_exited"},
        {"name": "odd-one", "done": True, "event_recorded": True},
    ]
    assert called(home, "up", "gone", "--confirm")[1]["error"]["code"] == "serve_exited"
    assert states(home) == {"odd-one": "running"}
    assert called(home, "up-for", "llm.one", "--confirm")[1]["data"]["started"] is True


def test_a_mode_is_entered_and_left_without_any_router(home):
    """The GPUs change hands and come back; a profile that is so already does nothing."""
    assert called(home, "up", "day", "--confirm")[0] == 0
    order = ("duo", "--restore-group", "day", "--confirm")
    assert called(home, "mode", "enter", *order)[0] == 0
    assert states(home) == {"duo": "running"}
    assert called(home, "mode", "status")[1]["data"] == {
        "mode": "dual-gpu-exclusive",
        "running": ["duo"],
    }
    assert called(home, "mode", "enter", *order)[1]["data"] == {"applied": False, "operation": None}
    assert called(home, "mode", "leave", *order)[0] == 0
    assert states(home) == {"west": "running", "east": "running"}
    kinds = [json.loads(line)["kind"] for line in (home / "events.jsonl").read_text().splitlines()]
    assert kinds == ["serve.up", "serve.up", "profile.enter", "profile.leave"]


async def test_only_a_refused_connection_says_that_there_is_no_router():
    """A server that is there and says nothing is no router that is not running."""
    environ = {"ANVIL_ROUTER_TOKEN": "token", "ANVIL_SERVING_NO_HOME_ENV": "1"}
    url = f"http://127.0.0.1:{free_port()}"
    assert await HttpOrders(url, environ).installed() is None
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(
            partial(trio.serve_tcp, trio.SocketStream.aclose, 0, host="127.0.0.1")
        )
        there = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        with pytest.raises(LifecycleFailed, match=r"^router_unreachable$"):
            await HttpOrders(there, environ).installed()
        nursery.cancel_scope.cancel()
    for bad, code in (
        ("http://kanarie.test", "invalid_router_url"),
        (url, "router_token_required"),
    ):
        orders = HttpOrders(bad, environ if code == "invalid_router_url" else {"HOME": "/none"})
        with pytest.raises(LifecycleFailed, match=f"^{code}$"):
            await orders.installed()
