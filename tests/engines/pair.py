"""Two real llama.cpp servers and the router in front of them, for as long as a block lasts."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import trio

from tests.engines.gguf_file import write_model

__all__ = ["ALIAS", "Pair", "llamacpp_pair", "running"]

ROOT = Path(__file__).parents[2]
ALIAS = "llm.tiny"
START_S = 30.0

CONFIG = """
[server]
decision_log_path = "{log}"

[router]
availability_probe_interval = 0.2

[router.model_routes]
"llm.tiny" = "tiny"

[[router.tiers]]
id = "tiny"
dialect = "{dialect}"
privacy = "local"
tool_support = true
auth_env = "TINY_ENGINE_KEY"
model = "tiny"
model_identity = true
health_path = "/health"
context_limit = 131072
{more}

[router.tiers.replica_identity]
model_revision = "scripted-1"
engine_version = "1.0"
image_digest = "sha256:{zeros}"
config_fingerprint = "sha256:{zeros}"

[[router.tiers.replicas]]
id = "a"
base_url = "{a}/v1"
host_id = "host"
resource_id = "engine-a"
qualification_ref = "example:a"
max_concurrency = 2

[[router.tiers.replicas]]
id = "b"
base_url = "{b}/v1"
host_id = "host"
resource_id = "engine-b"
qualification_ref = "example:b"
max_concurrency = 2
"""


@asynccontextmanager
async def running(log: Path, *command: str) -> AsyncIterator[str]:
    """A child of `python -m` for as long as the block lasts; gives the address it prints first."""
    with log.open("wb") as errors:
        child = await trio.lowlevel.open_process(
            [sys.executable, "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env=os.environ | {"PYTHONDEVMODE": ""},
        )
    assert child.stdin is not None
    assert child.stdout is not None
    async with child.stdin, child.stdout:
        try:
            said = b""
            with trio.fail_after(START_S):
                while b"\n" not in said:
                    part = await child.stdout.receive_some()
                    assert part, f"ended before it was ready, see {log}"
                    said += part
            yield "http" + said.decode().split("http", 1)[1].split()[0]
        finally:
            child.terminate()
            with trio.move_on_after(10, shield=True):
                await child.wait()
            child.kill()


class Pair:
    """The router in front of both engines, as a client sees it."""

    def __init__(self, client: httpx.AsyncClient, log: Path) -> None:
        self.client = client
        self.log = log

    @property
    def port(self) -> int:
        """Where the router listens."""
        port = self.client.base_url.port
        assert port is not None
        return port

    def body(self, text: str, *, stream: bool) -> dict[str, object]:
        """A chat request with one user message."""
        messages = [{"role": "user", "content": text}]
        return {"model": ALIAS, "messages": messages, "stream": stream}

    async def say(self, text: str) -> str:
        """The answer in one piece."""
        reply = await self.client.post("/v1/chat/completions", json=self.body(text, stream=False))
        assert reply.status_code == 200, reply.text
        answer = reply.json()
        assert answer["model"] == ALIAS
        content: str = answer["choices"][0]["message"]["content"]
        return content

    async def stream(self, text: str) -> str:
        """The answer put together from its events."""
        body = self.body(text, stream=True)
        async with self.client.stream("POST", "/v1/chat/completions", json=body) as reply:
            events = [line[6:] async for line in reply.aiter_lines() if line.startswith("data: ")]
        assert events[-1] == "[DONE]"
        deltas = [json.loads(event)["choices"][0]["delta"] for event in events[:-1]]
        return "".join(delta.get("content") or "" for delta in deltas)

    async def members(self) -> Sequence[str]:
        """Which member took each request, as the decision log has it."""
        lines = (await trio.Path(self.log).read_text()).splitlines()
        return [json.loads(line)["replica_member_id"] for line in lines]

    async def ready_members(self) -> int:
        """How many members the router has found ready."""
        model = (await self.client.get("/v1/models")).json()["data"][0]
        return sum(member["readiness"]["state"] == "ready" for member in model["members"])

    async def capacity(self) -> dict[str, Any]:
        """The tier's row of the capacity page."""
        row: dict[str, Any] = (await self.client.get("/v1/models/capacity")).json()["data"][0]
        return row

    async def active(self) -> int:
        """How many requests the router holds on the tier."""
        status = (await self.client.get("/v1/router/status")).json()
        count: int = status["tiers"][0]["active_requests"]
        return count


@asynccontextmanager
async def llamacpp_pair(
    folder: Path, more: str = "", *, dialect: str = "openai"
) -> AsyncIterator[Pair]:
    """Two engines with the scripted model and a router in front of them, both found ready.

    `more` is what the tier says beyond the usual, `dialect` in which words the engines are asked.
    """
    model, config, log = folder / "tiny.gguf", folder / "router.toml", folder / "decisions.jsonl"
    write_model(model)
    serve = ("tests.engines.serve_llamacpp", str(model), "0")
    route = ("anvil_trio", "router", "run", "--config", str(config), "--port", "0")
    async with (
        running(folder / "a.log", *serve) as a,
        running(folder / "b.log", *serve) as b,
    ):
        config.write_text(
            CONFIG.format(a=a, b=b, log=log, zeros="0" * 64, more=more, dialect=dialect)
        )
        async with (
            running(folder / "router.log", *route) as router,
            httpx.AsyncClient(base_url=router, trust_env=False, timeout=30) as client,
        ):
            pair = Pair(client, log)
            with trio.fail_after(START_S):
                while await pair.ready_members() < 2:
                    await trio.sleep(0.05)
            yield pair
