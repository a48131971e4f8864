"""The application under the stock hypercorn command, on real sockets."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml

pytestmark = pytest.mark.wire

ENGINE = """
from anvil_trio.demo.engine import Engine, EngineOptions

engine = Engine(EngineOptions())

async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        return await engine(scope, receive, send)
    while True:
        kind = (await receive())["type"]
        await send({"type": kind + ".complete"})
        if kind == "lifespan.shutdown":
            return
"""


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@contextmanager
def hypercorn(target: str, port: int, folder: Path, **environ: str) -> Iterator[None]:
    """The stock command, until the block is left."""
    command = [sys.executable, "-m", "hypercorn", "-k", "trio", "-b", f"127.0.0.1:{port}", target]
    path = os.pathsep.join([str(folder), str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def ask(port: int, path: str, body: dict[str, object] | None = None) -> bytes:
    """One request with the operator's key."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    request.add_header("authorization", "Bearer stock-token")
    with urllib.request.urlopen(request, timeout=20) as reply:
        answer: bytes = reply.read()
        return answer


def wait_until_ready(port: int) -> None:
    """Until both members are ready; a minute at most."""
    for _ in range(600):
        try:
            [row] = json.loads(ask(port, "/v1/models/capacity"))["data"]
            if row["readiness"]["reason"] == "replicas_ready":
                return
        except (OSError, urllib.error.URLError):
            pass
        time.sleep(0.1)
    raise AssertionError("the router did not become ready")


def test_the_main_job_under_the_stock_command(tmp_path: Path):
    """Four requests and a stream through two replicas under hypercorn's own command."""
    (tmp_path / "engine_app.py").write_text(ENGINE)
    engines, router = [free_port(), free_port()], free_port()
    urls = [f"http://127.0.0.1:{port}" for port in engines]
    log = tmp_path / "decisions.jsonl"
    config = render_router_toml(
        {"chat": urls}, model="demo-model", context_limit=8192, log_path=str(log)
    )
    (tmp_path / "router.toml").write_text(config)
    body: dict[str, object] = {
        "model": "chat",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 4,
    }
    with ExitStack() as running:
        for port in engines:
            running.enter_context(hypercorn("engine_app:app", port, tmp_path))
        environ = {"ANVIL_CONFIG": "router.toml", ROUTER_KEY_ENV: "stock-token"}
        running.enter_context(hypercorn("anvil_trio.app:app", router, tmp_path, **environ))
        wait_until_ready(router)
        replies = [json.loads(ask(router, "/v1/chat/completions", body)) for _ in range(4)]
        stream = ask(router, "/v1/chat/completions", {**body, "stream": True})
    assert {reply["choices"][0]["finish_reason"] for reply in replies} == {"length"}
    assert stream.endswith(b"data: [DONE]\n\n")
    members = [json.loads(line)["replica_member_id"] for line in log.read_text().splitlines()]
    assert members == ["a", "b", "a", "b", "a"]
