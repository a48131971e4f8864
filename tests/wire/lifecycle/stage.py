"""A router over one of two demo engines, and the commands that swap them, all as processes."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from tests.wire.demo.commands import Running, ran, running

__all__ = ["TOKEN", "Stage", "open_stage"]

TOKEN = "wire-token"
_ROUTER = """[router]
availability_probe_interval = 0.2

[router.model_routes]"""
_SERVE = """
[[serve]]
name = "{name}"
runtime = "native"
port = {port}
model = "demo-model"
router_tier = "chat"
health = "{health}"
stop_timeout_s = 5
command = [{python}, "-m", "anvil_trio", "demo-engine", "--port", "{{port}}",
           "--tokens-per-second", "2"]
"""
_PLAN = """
[[promotion]]
name = "swap"
target = "new"
rollback = "old"
affected_tiers = ["chat"]
router_config = "new.toml"
rollback_router_config = "old.toml"
startup_timeout = {startup}
poll_interval = 0.05
drain_timeout = {drain}
"""


@dataclass(slots=True)
class Stage:
    """An operator's home, and how its commands are called."""

    home: Path
    ports: Mapping[str, int]
    environ: Mapping[str, str]
    url: str = ""

    def write(self, *, health: str = "/health", startup: float = 30, drain: float = 10) -> None:
        """The serves file; `health` is the new serve's."""
        python = json.dumps(sys.executable)
        text = _SERVE.format(name="old", port=self.ports["old"], health="/health", python=python)
        text += _SERVE.format(name="new", port=self.ports["new"], health=health, python=python)
        text += _PLAN.format(startup=startup, drain=drain)
        (self.home / "serves.toml").write_text(text)

    def serves(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command to its end."""
        ended: subprocess.CompletedProcess[str] = ran("serves", *words, **self.environ)
        return ended

    def promote(self, *words: str) -> tuple[int, dict[str, object]]:
        """One promotion command: its status, and what it answered."""
        ended = self.serves("promote", "swap", "--router-url", self.url, "--json", *words)
        assert ended.stderr == ""
        answer: dict[str, object] = json.loads(ended.stdout)
        return ended.returncode, answer

    def killed_at(self, step: str, when: str) -> None:
        """A promotion that kills itself with SIGKILL at a step, right before or after its work."""
        words = ["serves", "promote", "swap", "--router-url", self.url, "--confirm"]
        ended = subprocess.run(
            [sys.executable, "-m", "tests.wire.lifecycle.killed", step, when, *words],
            env={**os.environ, **self.environ},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == -9, ended.stderr

    def journals(self) -> list[dict[str, object]]:
        """Every journal, the oldest first."""
        paths = sorted((self.home / "operations").glob("*/journal.json"))
        return [json.loads(path.read_bytes()) for path in paths]

    def get(self, path: str) -> dict[str, object]:
        """One page of the router."""
        headers = {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(trust_env=False) as client:
            page: dict[str, object] = client.get(self.url + path, headers=headers).json()
        return page

    def tier(self) -> dict[str, object]:
        """The row of the one tier, as a transition shows it."""
        rows = self.get("/v1/admin/transition")["tiers"]
        assert isinstance(rows, list)
        row: dict[str, object] = rows[0]
        return row

    def is_served(self) -> bool:
        """Whether a request through the router is answered."""
        body = {
            "model": "chat",
            "max_tokens": 2,
            "messages": [{"role": "user", "content": "hi"}],
        }
        headers = {"authorization": f"Bearer {TOKEN}"}
        url = f"{self.url}/v1/chat/completions"
        with httpx.Client(trust_env=False, timeout=30) as client:
            return client.post(url, json=body, headers=headers).status_code == 200

    def engines(self) -> list[str]:
        """Which of the two really run: by their ports on all command lines of this machine."""
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(path.read_bytes().split(b"\x00"))
            except OSError:
                continue
        return sorted(
            name
            for line in lines
            for name, port in self.ports.items()
            if b"demo-engine" in line and str(port).encode() in line
        )

    def assert_whole(self, name: str) -> None:
        """One process, one route, an open tier that serves, and no operation that broke off."""
        assert self.engines() == [name]
        row = self.tier()
        assert row["state"] == "admitting"
        assert self.is_served()
        config = (self.home / f"{name}.toml").read_bytes()
        assert (self.home / "router.toml").read_bytes() == config
        status = self.get("/v1/router/status")
        assert self.journals()[-1]["step"] is None
        side = self.journals()[-1]["target" if name == "new" else "rollback"]
        assert isinstance(side, dict)
        assert status["installed_config_sha256"] == side["config_sha256"]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def open_stage(folder: Path) -> Iterator[Stage]:
    """The old engine up and a router in front of it; everything is ended with the block."""
    old, new = _free_ports(2)
    environ = {
        "ANVIL_SERVING_HOME": str(folder),
        "ANVIL_SERVING_NO_HOME_ENV": "1",
        ROUTER_KEY_ENV: TOKEN,
        "ANVIL_ROUTER_TOKEN": TOKEN,
        "PYTHONPATH": str(Path.cwd()),
    }
    stage = Stage(folder, {"old": old, "new": new}, environ)
    for name, port in stage.ports.items():
        routes = {"chat": [f"http://127.0.0.1:{port}/v1"]}
        text = render_router_toml(routes, model="demo-model", context_limit=8192)
        (folder / f"{name}.toml").write_text(text.replace("[router.model_routes]", _ROUTER))
    (folder / "router.toml").write_bytes((folder / "old.toml").read_bytes())
    stage.write()
    try:
        assert stage.serves("up", "old", "--confirm").returncode == 0
        config = str(folder / "router.toml")
        with running("router", "run", "--port", "0", "--config", config, **environ) as router:
            stage.url = _announced(router)
            _wait_until_ready(stage)
            yield stage
    finally:
        stage.serves("down", "all", "--confirm")
        assert stage.engines() == []


def _announced(router: Running) -> str:
    return str(router.line().split()[2])


def _wait_until_ready(stage: Stage) -> None:
    end = time.monotonic() + 30
    while not stage.tier()["ready"]:
        assert time.monotonic() < end, "the engine did not become ready"
        time.sleep(0.05)
