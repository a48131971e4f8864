"""`anvil-serving router install-config` against a router that runs, on real sockets."""

import json
import os
import sys
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL

import httpx
import pytest
import trio

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from anvil_trio.demo.slots import Pace
from tests.support.running_router import TOKEN, RunningRouter, open_engines, open_router
from tests.wire.demo.commands import ran

pytestmark = pytest.mark.wire

SLOW = Pace(tokens_per_second=3.0, prefill_tokens_per_second=100_000.0)
HEADERS = {"authorization": f"Bearer {TOKEN}"}
ROW = """
[[resources]]
id = "engine-{id}"
role = "{id}"
host = "this-host"
runtime = "native"
endpoint = "{url}"
"""
TOPOLOGY = """
schema_version = 1
id = "lab"
[[hosts]]
id = "this-host"
roles = []
[[runtimes]]
id = "native"
host = "this-host"
role = "native"
"""
SUPERVISOR = """
import os, pathlib, signal, subprocess, sys, time
pid = int(pathlib.Path("pid").read_text())
try:
    os.kill(pid, signal.SIGTERM)
    while os.path.exists(f"/proc/{pid}") and "Z" not in open(f"/proc/{pid}/stat").read().split()[2]:
        time.sleep(0.05)
except (ProcessLookupError, FileNotFoundError):
    pass
router = subprocess.Popen(
    [sys.executable, "-m", "anvil_trio", "router", "run", "--config", "router.toml",
     "--port", sys.argv[1]],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    start_new_session=True,
)
pathlib.Path("pid").write_text(str(router.pid))
"""


class Lab:
    """A router, the topology of its engines, and the command about it."""

    def __init__(self, folder: Path, urls: list[str], router: RunningRouter) -> None:
        self.folder, self.urls, self.router = folder, urls, router
        rows = (ROW.format(id=name, url=url) for name, url in zip("ab", urls, strict=True))
        self.path("operator-topology.toml").write_text(TOPOLOGY + "".join(rows))

    def path(self, name: str) -> Path:
        """One file of the operator's home."""
        return self.folder / name

    def propose(self, *, ceiling: str = "") -> bytes:
        """Write a configuration with one tier more to another file; its bytes."""
        text = render_router_toml(
            {"chat": self.urls, "other": self.urls[:1]},
            model="demo-model",
            context_limit=8192,
            log_path=str(self.router.log_path),
        )
        self.path("new.toml").write_text(text.replace("[server]\n", f"[server]\n{ceiling}", 1))
        return self.path("new.toml").read_bytes()

    async def install(self, *more: str) -> tuple[int, dict[str, object], str]:
        """The command about that file: its status, its object, and the code of its failure."""
        command = partial(
            ran,
            *("router", "install-config", "--json", "--router-url", self.router.base_url),
            *("--config", str(self.path("new.toml")), *more),
            ANVIL_SERVING_HOME=str(self.folder),
            ANVIL_ROUTER_TOKEN=TOKEN,
            PYTHONPATH=str(Path.cwd()),
            **{ROUTER_KEY_ENV: TOKEN},
        )
        done = await trio.to_thread.run_sync(command)
        assert done.stderr == ""
        assert str(self.folder) not in done.stdout
        envelope = json.loads(done.stdout)
        error = envelope["error"] or {"code": ""}
        return done.returncode, envelope["data"], error["code"]

    async def installed(self) -> object:
        """The digest that the router says is at work."""
        return (await self.router.get("/v1/router/status"))["installed_config_sha256"]


@asynccontextmanager
async def open_lab(folder, pace=SLOW):
    """Two engines and a router over them."""
    async with open_engines(pace=pace) as urls, open_router(folder, urls) as router:
        yield Lab(folder, urls, router)


async def stream(lab: Lab, ends: list[bytes], tokens: int = 30) -> None:
    """One stream from its request to its end, of which the last event is kept."""
    body = {"model": "chat", "stream": True, "max_tokens": tokens}
    body["messages"] = [{"role": "user", "content": "hi"}]
    async with httpx.AsyncClient(headers=HEADERS, timeout=60, trust_env=False) as client:
        url = f"{lab.router.base_url}/v1/chat/completions"
        async with client.stream("POST", url, json=body) as reply:
            assert reply.status_code == 200
            received = b"".join([piece async for piece in reply.aiter_raw()])
    ends.append(received.rstrip().rpartition(b"\n")[2])


async def begun(lab: Lab, count: int) -> None:
    """Wait until so many requests hold a lease."""
    with trio.fail_after(30):
        while (await lab.router.counts())[0] < count:
            await trio.sleep(0.05)


async def test_a_dry_run_asks_the_router_for_its_tiers(tmp_path):
    """T015: a configuration, validated, then compared with what is served; nothing is written."""
    async with open_lab(tmp_path) as lab:
        lab.propose()
        before = {path.name for path in tmp_path.iterdir()}
        status, data, _ = await lab.install("--dry-run")
        assert (status, data["current_tiers"], data["desired_tiers"]) == (
            0,
            ["chat"],
            ["chat", "other"],
        )
        assert {path.name for path in tmp_path.iterdir()} == before
        lab.path("operator-topology.toml").write_text(TOPOLOGY)
        assert await lab.install("--confirm") == (2, None, "replica_resource_missing")


async def test_a_hot_installation_cuts_no_stream(tmp_path):
    """T015: twenty streams run on while the bytes are written, taken up and verified."""
    ends: list[bytes] = []
    async with open_lab(tmp_path) as lab:
        old, new = lab.path("router.toml").read_bytes(), lab.propose()
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(stream, lab, ends)
            await begun(lab, 20)
            status, data, code = await lab.install("--confirm")
            assert (status, code, data["way"]) == (0, "", "hot")
            assert (data["desired_tiers"], data["unavailable_tiers"]) == (["chat", "other"], [])
            assert data["installed_config_sha256"] == sha256(new).hexdigest()
            assert await lab.installed() == sha256(new).hexdigest()
        assert ends == [b"data: [DONE]"] * 20
        assert lab.path("router.toml").read_bytes() == new
        assert lab.path("router.toml.bak").read_bytes() == old


async def test_a_change_that_needs_a_restart_is_taken_back(tmp_path):
    """T015: the running router refuses it, and its old file and configuration are as they were."""
    ends: list[bytes] = []
    async with open_lab(tmp_path) as lab:
        old = lab.path("router.toml").read_bytes()
        lab.propose(ceiling="max_concurrency = 7\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream, lab, ends)
            await begun(lab, 1)
            status, data, code = await lab.install("--confirm")
        assert (status, code) == (1, "activation_requires_restart")
        assert (data["restored"], data["failed_step"]) == (True, "activate")
        assert lab.path("router.toml").read_bytes() == old
        assert await lab.installed() == sha256(old).hexdigest()
        assert ends == [b"data: [DONE]"]


@asynccontextmanager
async def supervised(lab: Lab):
    """The router is restarted by a command; whatever it started last is killed in the end."""
    lab.path("pid").write_text(str(lab.router.process.pid))
    lab.path("supervisor.py").write_text(SUPERVISOR)
    command = [sys.executable, "supervisor.py", str(lab.router.port)]
    lab.path("router-install.toml").write_text(f"restart_command = {json.dumps(command)}\n")
    try:
        yield
    finally:
        pid = int(lab.path("pid").read_text())
        if pid != lab.router.process.pid:
            os.kill(pid, SIGKILL)


async def test_a_restart_waits_for_streams_and_brings_the_new_tiers(tmp_path):
    """T015: what runs ends whole, then another process serves the new bytes with open tiers."""
    ends: list[bytes] = []
    async with open_lab(tmp_path) as lab, supervised(lab):
        new = lab.propose(ceiling="max_concurrency = 7\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream, lab, ends)
            await begun(lab, 1)
            status, data, code = await lab.install("--confirm", "--restart")
            assert (status, code, data["way"]) == (0, "", "restart")
        assert ends == [b"data: [DONE]"]
        assert (data["desired_tiers"], data["unavailable_tiers"]) == (["chat", "other"], [])
        assert await lab.installed() == sha256(new).hexdigest()
        assert int(lab.path("pid").read_text()) != lab.router.process.pid
        await stream(lab, ends, tokens=1)
        assert len(ends) == 2


async def test_a_restart_that_does_not_get_its_drain_or_its_router_is_undone(tmp_path):
    """T015: streams that do not end stop nothing; a router that cannot start is as it was."""
    ends: list[bytes] = []
    async with open_lab(tmp_path) as lab, supervised(lab):
        old = lab.path("router.toml").read_bytes()
        lab.propose(ceiling="max_concurrency = 7\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream, lab, ends)
            await begun(lab, 1)
            status, data, code = await lab.install(
                "--confirm", "--restart", "--drain-timeout", "0.3"
            )
            assert (status, code, data["restored"]) == (1, "not_drained", True)
            await stream(lab, ends, tokens=1)
        assert ends == [b"data: [DONE]"] * 2
        with lab.path("router-install.toml").open("a") as settings:
            settings.write("start_timeout_s = 8\n")
        # It is valid, and names files that are not there.
        lab.propose(ceiling='tls_certfile = "/no/cert"\ntls_keyfile = "/no/key"\n')
        status, data, code = await lab.install("--confirm", "--restart")
        assert (status, code) == (1, "router_not_restarted")
        assert (data["restored"], data["failed_step"]) == (True, "await")
        assert lab.path("router.toml").read_bytes() == old
        assert await lab.installed() == sha256(old).hexdigest()
        await stream(lab, ends, tokens=1)
