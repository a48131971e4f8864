"""A planted router at work, and everything that it shows anybody."""

import json
import secrets
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import trio
from structlog.testing import capture_logs

from anvil_trio.assembly import open_generation, open_house
from anvil_trio.decisions.events import Event
from anvil_trio.decisions.otlp import render_spans
from anvil_trio.decisions.record import render_line
from anvil_trio.exchange.house import House
from anvil_trio.upstream.stream import Request
from anvil_trio.views.feed import render_event
from anvil_trio.web.asgi import App
from anvil_trio.web.asgi_types import Headers
from anvil_trio.web.auth import Authenticator
from anvil_trio.web.router import ROUTES, Pool
from tests.redaction.faults import CONTENT_TYPES, PATHS, SERVICES
from tests.redaction.planted import OPERATOR, READER, USER, leaks, plant
from tests.support.asgi import Answer, Side, request
from tests.support.fake_upstream import FakeCall, FakeUpstream, Reply

__all__ = ["LOUD_HEADERS", "Planted", "bearer", "open_planted"]

LOUD_HEADERS: Headers = [
    (b"x-anvil-session-id", b"kanarie" * 30),
    (b"x-request-id", b"kanarie with blanks"),
    (b"x-anvil-task-id", b"kanarie\xff"),
    (b"x-anvil-workbench-run-id", b"<kanarie>"),
    (b"user-agent", b"kanarie"),
    (b"x-kanarie", b"kanarie"),
    (b"cookie", b"kanarie=kanarie"),
    (b"origin", b"http://kanarie.test"),
    (b"anthropic-beta", b"kanarie beta"),
]
"""Headers of which none may be seen again: too long, not safe, or nobody's business."""

_ENGINE_BUG = "kanarie-in-an-exception"


def bearer(token: str) -> tuple[bytes, bytes]:
    """The header that says who is calling."""
    return (b"authorization", f"Bearer {token}".encode())


@dataclass(eq=False)
class _Engine(FakeUpstream):
    """Answers every inference call with `answer`, or has a bug."""

    answer: Reply | None = None

    async def send(self, request: Request | httpx.Request, body: bytes) -> FakeCall:
        if request.method == "POST" and self.answer is None:
            raise RuntimeError(_ENGINE_BUG)
        return await super().send(request, body)

    def _script(self, path: str) -> Reply:
        is_probe = path.endswith(("/kanarie-health", "/v1/models"))
        if is_probe or self.answer is None:
            return super()._script("/v1/models" if path.endswith("/v1/models") else path)
        return self.answer


@dataclass(slots=True)
class Planted:
    """The application, its engines, and what is written beside its answers."""

    app: App
    house: House
    folder: Path
    engines: list[_Engine]
    lines: list[MutableMapping[str, Any]]
    events: list[Event] = field(default_factory=list)

    def answer_with(self, answer: Reply | None, *, model: str = "served-model") -> None:
        """What all engines do from now on; None is a bug of our own in their place."""
        for engine in self.engines:
            engine.answer, engine.model = answer, model

    async def ask(self, dialect: str, body: bytes) -> Answer:
        """One inference request with loud headers, of somebody who may make it."""
        token = OPERATOR if dialect in SERVICES else USER
        kind = (b"content-type", CONTENT_TYPES[dialect])
        headers = [bearer(token), kind, *LOUD_HEADERS]
        return await request(
            self.app, "POST", PATHS[dialect], headers=headers, parts=[body], side=Side()
        )

    async def pages(self) -> AsyncIterator[tuple[str, Answer]]:
        """Every route that is no inference, for each caller, plainly and with a hostile query."""
        for route in ROUTES.values():
            if route.pool in {Pool.CHAT, Pool.SERVICES}:
                continue
            path = route.path.replace("{", "kanarie").replace("}", "")
            for token in (OPERATOR, USER, READER, "kanarie-nobody"):
                for query in (b"", b"kanarie=kanarie", b"model=kanarie", b"limit=kanarie"):
                    answer = await request(
                        self.app,
                        route.method,
                        path,
                        headers=[bearer(token), *LOUD_HEADERS],
                        query=query,
                        parts=[
                            b'{"kanarie": "kanarie", "action": "kanarie", "tier_id": "kanarie"}'
                        ],
                        side=Side(),
                    )
                    yield f"{route.method} {route.path} {query.decode()}", answer

    async def records(self) -> AsyncIterator[tuple[str, Answer]]:
        """Every page about one request that there was, and the one about all that run."""
        ids = [record.gateway_request_id for record in self.house.log.ring]
        paths = [(f"/v1/requests/{each}", b"") for each in ids]
        for path, query in [*paths, ("/v1/requests", b"active=1")]:
            yield (
                path,
                await request(
                    self.app, "GET", path, headers=[bearer(READER)], query=query, side=Side()
                ),
            )

    def written(self) -> Iterator[tuple[str, bytes | str]]:
        """What is in memory, on disk, on stderr, on the bus and in spans."""
        for record in self.house.log.ring:
            yield "record", render_line(record)
            yield "span", render_spans([record], "0.1.0", secrets.token_hex)
        for path in self.folder.rglob("*"):
            if path.name in {"kanarie-decisions.jsonl", "kanarie-state.json"}:
                yield "file", path.read_bytes()
        yield "event lines", json.dumps(self.lines)
        yield "bus", repr(self.events)
        yield "feed", "\n".join(map(render_event, self.events))

    async def leaks(self) -> list[str]:
        """Every place, apart from answers to inference requests, at which something shows."""
        found = [leak for where, shown in self.written() for leak in leaks(where, shown)]
        async for where, answer in self.pages():
            found += answer_leaks(where, answer)
        async for where, answer in self.records():
            assert answer.status == 200, where
            found += answer_leaks(where, answer)
        return found


def answer_leaks(where: str, answer: Answer, *, to_caller: bool = False) -> list[str]:
    """What shows in the head and in the body of one answer."""
    head = repr((answer.status, answer.headers))
    return leaks(f"{where} head", head) + leaks(f"{where} body", answer.body, to_caller=to_caller)


@asynccontextmanager
async def open_planted(tmp_path: Path) -> AsyncIterator[Planted]:
    """A planted house whose members have been probed once."""
    config, secrets = plant(tmp_path)
    engines: list[_Engine] = []

    def make(base_url: str, *, keepalive_s: float) -> _Engine:
        engines.append(_Engine(health_path="/kanarie-health"))
        return engines[-1]

    with capture_logs() as lines:
        async with open_house(config) as house:
            with house.bus.subscribe(100_000) as feed:
                async with (
                    open_generation(house, config, secrets, make) as generation,
                    trio.open_nursery() as nursery,
                ):
                    await trio.sleep(0.1)
                    app = App(house, lambda: generation, Authenticator(OPERATOR, secrets.clients))
                    planted = Planted(app, house, tmp_path, engines, lines)
                    nursery.start_soon(_collect, feed, planted.events)
                    yield planted
                    nursery.cancel_scope.cancel()


async def _collect(feed, events: list[Event]) -> None:
    while True:
        events.append(await feed.receive())
