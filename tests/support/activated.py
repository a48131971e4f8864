"""A router whose configuration file can be changed while it runs, over scripted engines."""

import json
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import pytest
import trio

from anvil_trio.assembly import open_house
from anvil_trio.config.load import resolve_secrets
from anvil_trio.config.source import ConfigSource
from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from anvil_trio.generations import open_generations
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import TOKEN, Side, request
from tests.support.chunks import good_reply
from tests.support.fake_upstream import FakeUpstream

PATH = "/v1/admin/activate"


def toml(**tiers):
    """A configuration: an alias of the tier's own name for each of these tiers' URLs."""
    urls = {name: list(given) for name, given in tiers.items()}
    return render_router_toml(urls, model="served-model", context_limit=8192)


def one_each(*urls):
    """The tier `chat` over these URLs, each with place for one request."""
    return toml(chat=urls).replace("host_id", "max_concurrency = 1\nhost_id")


class World:
    """A router whose file can be changed, and its engines by URL."""

    def __init__(self, path, environ):
        self.path, self.source = path, ConfigSource(path, environ)
        self.engines = {}
        self.made = []
        self.app: Any = None
        self.house: Any = None
        self.generations: Any = None

    def engine(self, url):
        return self.engines.setdefault(url, FakeUpstream(chat_default=good_reply()))

    def make(self, base_url, *, keepalive_s):
        self.made.append(base_url)
        return self.engine(base_url)

    def write(self, text):
        """Change the file; the digest of what it holds now."""
        self.path.write_text(text)
        return sha256(text.encode()).hexdigest()

    async def activate(self, digest, **more):
        body = {"sha256": digest, "confirm": True, **more}
        return await request(self.app, "POST", PATH, parts=[json.dumps(body).encode()], side=Side())

    async def chat(self, model, *, stream=False, side=None):
        body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}
        return await request(
            self.app,
            "POST",
            "/v1/chat/completions",
            parts=[json.dumps(body).encode()],
            side=side or Side(),
        )

    async def status(self):
        answer = await request(self.app, "GET", "/v1/router/status", side=Side())
        return answer.json


async def series(world):
    """What the router counts, as text."""
    return (await request(world.app, "GET", "/metrics", side=Side())).body.decode()


async def in_place(work, *arguments, **_options):
    """A thread's work without a thread, of which virtual time knows nothing."""
    await trio.lowlevel.checkpoint()
    return work(*arguments)


@pytest.fixture
def open_world(tmp_path, monkeypatch):
    """Opens a world over the configuration it is given."""
    monkeypatch.setattr("trio.to_thread.run_sync", in_place)

    @asynccontextmanager
    async def opened(text):
        world = World(tmp_path / "router.toml", {ROUTER_KEY_ENV: TOKEN})
        world.write(text)
        config = world.source.load()
        secrets = resolve_secrets(config, world.source.environ)
        async with (
            open_house(config) as world.house,
            open_generations(
                world.house, config, secrets, source=world.source, make_transport=world.make
            ) as world.generations,
        ):
            world.app = App(
                world.house,
                world.generations.current,
                Authenticator(TOKEN),
                world.generations.activate,
            )
            await trio.sleep(0.1)
            yield world

    return opened
