"""The whole demo in one process: engines, a router in front of them, and the show."""

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import httpx
import trio

from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.demo.client import RouterClient, RouterGone
from anvil_trio.demo.curl import curl_lines
from anvil_trio.demo.engine import EngineOptions
from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, member_ids, render_router_toml
from anvil_trio.demo.serve import serve_engine
from anvil_trio.demo.show import Audience, play
from anvil_trio.demo.workflows import REGISTRY_NAME, WORKFLOWS, media_environ
from anvil_trio.names import MemberId
from anvil_trio.server.listen import listen
from anvil_trio.serving import run_router

__all__ = ["DemoOptions", "Stage", "run_demo"]

_ALIAS = "demo"
_CONFIG_NAME = "router.toml"
_LOG_NAME = "decisions.jsonl"
_HOST = "127.0.0.1"
_EMBEDDED_ENGINES = 2
_FOREIGN_CONTEXT = 1_048_576  # engines of others refuse what is too long for them themselves
_REPLY_PATIENCE_S = 900.0  # the router gives up sooner
_READY_PATIENCE_S = 10.0
_READY_GLANCE_S = 0.05


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What is shown: `urls` are engines that already run; without any, two are embedded."""

    urls: tuple[str, ...] = ()
    model: str = EngineOptions().model
    port: int = 0
    is_once: bool = False


class Stage(Protocol):
    """Where the demo is shown."""

    def introduce(self, engines: Mapping[MemberId, str], router_url: str, config_path: str) -> None:
        """Engines and router are up, at these addresses, with that configuration."""
        ...

    def curtain(self) -> AbstractContextManager[Audience]:
        """The audience, for as long as the show lasts."""
        ...

    def keep_serving(self, commands: Sequence[str]) -> None:
        """The show is over, the router goes on; `commands` may be tried."""
        ...


async def run_demo(options: DemoOptions, stage: Stage) -> int:
    """Show the router at work, then serve until SIGINT or SIGTERM; how many requests failed.

    With `is_once` it ends after the show. Raises ConfigError for URLs that a router does not take
    and OSError for a port that it cannot have, each perhaps inside an ExceptionGroup. Nothing is
    left behind: the configuration and the log live in a folder that goes away with the demo.
    """
    failures = 0
    with TemporaryDirectory(prefix="anvil-demo-") as name:
        folder = trio.Path(name)
        async with trio.open_nursery() as nursery:
            urls = options.urls or await _embed_engines(nursery, options.model)
            port = options.port or _free_port()
            config = await _write_config(folder, urls, options, port)
            key = secrets.token_hex(16)
            environ = {**os.environ, ROUTER_KEY_ENV: key, **media_environ(Path(name))}
            url = await nursery.start(_route, nursery, config, port, environ)
            engines = dict(zip(member_ids(len(urls)), urls, strict=True))
            stage.introduce(engines, url, str(folder / _CONFIG_NAME))
            try:
                failures = await _show(stage, url, key, folder, len(urls))
                if not options.is_once:
                    stage.keep_serving(curl_lines(url, key, _ALIAS))
                    await trio.sleep_forever()
            except RouterGone:
                await trio.sleep_forever()
            nursery.cancel_scope.cancel()
    return failures


async def _embed_engines(nursery: trio.Nursery, model: str) -> tuple[str, ...]:
    engine = EngineOptions(model=model)
    return tuple([await nursery.start(serve_engine, engine) for _ in range(_EMBEDDED_ENGINES)])


def _free_port() -> int:
    """A port that is free now: the configuration says where the router is, before it is there."""
    with listen(_HOST, 0) as listener:
        port: int = listener.getsockname()[1]
        return port


async def _write_config(
    folder: trio.Path, urls: Sequence[str], options: DemoOptions, port: int
) -> RouterConfig:
    text = render_router_toml(
        {_ALIAS: urls},
        model=options.model,
        context_limit=_FOREIGN_CONTEXT if options.urls else EngineOptions().max_model_len,
        log_path=str(folder / _LOG_NAME),
        media_origin=f"http://{_HOST}:{port}",
        is_realtime=not options.urls,
    )
    await (folder / REGISTRY_NAME).write_text(WORKFLOWS)
    data = text.encode("utf-8", "replace")
    await (folder / _CONFIG_NAME).write_bytes(data)
    return parse_config(data)


async def _route(
    nursery: trio.Nursery,
    config: RouterConfig,
    port: int,
    environ: Mapping[str, str],
    *,
    task_status: trio.TaskStatus[str],
) -> None:
    """Run the router; when it has ended by itself, because of a signal, so has the demo."""

    def ready(host: str, port: int) -> None:
        task_status.started(f"http://{host}:{port}")

    await run_router(config, host=_HOST, port=port, on_ready=ready, environ=environ)
    nursery.cancel_scope.cancel()
    await trio.lowlevel.checkpoint()


async def _show(stage: Stage, url: str, key: str, folder: trio.Path, members: int) -> int:
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=_REPLY_PATIENCE_S, trust_env=False
    ) as http:
        client = RouterClient(http, _ALIAS)
        await _await_members(client, members)
        with stage.curtain() as audience:
            turns = await play(client, folder / _LOG_NAME, audience)
    return sum(turn.problem is not None for turn in turns)


async def _await_members(client: RouterClient, members: int) -> None:
    """Until the router would use all named members: only then is the order of turns certain.

    Gives up after a while: the show then says itself what does not work.
    """
    if members == 1:
        return
    with trio.move_on_after(_READY_PATIENCE_S):
        while True:
            if await client.count_ready() == members:
                return
            await trio.sleep(_READY_GLANCE_S)
