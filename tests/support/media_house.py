"""A house with a media service in memory, spoken to through the whole application."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from anvil_trio.config.model import ServerSettings
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN, Answer, Side, request
from tests.support.fake_operations import PRINCIPAL, FakeOperations
from tests.support.small_house import SmallHouse, config_of, open_small_house

ORIGIN = "https://media.test"
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
RUN = {
    "workflowId": "paint",
    "version": "2",
    "parameters": {"prompt": "a cat"},
    "idempotencyKey": "key-1",
}


def tool_call(name: str, **arguments: object) -> dict[str, object]:
    """One stateless call of a tool."""
    params = {"_meta": META, "name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def a2a_call(method: str, **params: object) -> dict[str, object]:
    """One call of A2A."""
    return {"jsonrpc": "2.0", "id": "q", "method": method, "params": params}


def message(configuration: Mapping[str, object] | None = None, **data: object) -> dict[str, object]:
    """The params of a message that asks for a job."""
    part = {"data": {**RUN, **data}}
    found: dict[str, object] = {"message": {"role": "ROLE_USER", "parts": [part]}}
    return found if configuration is None else {**found, "configuration": configuration}


def events_of(body: bytes) -> list[dict[str, Any]]:
    """What a stream has told so far, heartbeats left out."""
    lines = body.replace(b": keepalive\n", b"").split(b"\n\n")
    assert lines[-1] == b"", "an event was cut"
    return [json.loads(line.removeprefix(b"data: ")) for line in lines[:-1]]


@dataclass(slots=True)
class MediaHouse:
    """The application, its house and its service."""

    small: SmallHouse
    service: FakeOperations
    app: App

    async def post(
        self, path: str, document: object, *, said: dict[str, str] | None = None, **more
    ) -> Answer:
        """One request whose body is this document, or these bytes."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        headers = [BEARER, *((k.encode(), v.encode()) for k, v in (said or {}).items())]
        more.setdefault("side", Side())
        return await request(self.app, "POST", path, headers=headers, parts=[body], **more)

    async def mcp(self, document: object, **more) -> Answer:
        """One request to `/mcp`."""
        return await self.post("/mcp", document, **more)

    async def a2a(self, document: object, *, accept: str = "application/json", **more) -> Answer:
        """One request to `/a2a`."""
        said = {"a2a-version": "1.0", "accept": accept}
        return await self.post("/a2a", document, said=said, **more)

    async def get(self, path: str, method: str = "GET", **said: str) -> Answer:
        """One request without a body."""
        headers = [BEARER, *((k.replace("_", "-").encode(), v.encode()) for k, v in said.items())]
        return await request(self.app, method, path, headers=headers, side=Side())


def media_settings(**more) -> ServerSettings:
    """`[server]` with a media service of all scopes."""
    return ServerSettings(**{
        "auth_env": "TOKEN",
        "media_principal": PRINCIPAL,
        "media_scopes": ("media:read", "media:submit", "media:cancel"),
        "media_public_origin": ORIGIN,
        **more,
    })


@asynccontextmanager
async def open_media_house(**settings) -> AsyncIterator[MediaHouse]:
    """One house; more settings of `[server]`."""
    async with open_small_house(config_of(server=media_settings(**settings))) as small:
        service = FakeOperations()
        small.house.operations = service
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        yield MediaHouse(small, service, app)


async def entered(media: MediaHouse) -> int:
    """How many requests have a place of the protocols."""
    return (await media.small.house.protocols.inspect()).active
