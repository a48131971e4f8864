"""A ComfyUI as far as the router asks one, on loopback: it keeps what it was handed."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import trio

from anvil_trio.operations.picture import draw
from tests.support.wire import serving
from tests.support.wire_apps import Receive, Scope, Send, read_body, reply

__all__ = ["FakeComfyUi", "fake_comfyui"]


@dataclass
class FakeComfyUi:
    """Its line, its history and its files; a test moves its jobs on.

    `gives_names` makes it an old one, which does not take a job's own name.
    """

    gives_names: bool = False
    status: int = 200
    url: str = ""
    jobs: dict[str, dict[str, object]] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)  # pending, running, success, error
    uploads: dict[str, bytes] = field(default_factory=dict)
    interrupted: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    picture: bytes = field(default_factory=lambda: draw("fake", {}, {}))
    listeners: list[Send] = field(default_factory=list)
    is_listened_to: trio.Event = field(default_factory=trio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one listener to its events."""
        if scope["type"] == "websocket":
            await self._tell(receive, send)
            return
        path = str(scope["path"])
        self.asked.append(path)
        body = await read_body(receive)
        if self.status != 200:
            await reply(send, b"{}", self.status, (b"location", b"http://127.0.0.1:1/"))
            return
        status, answer = self._answer(str(scope["method"]), path, body, scope)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        await reply(send, data, status)

    async def move(self, state: str) -> None:
        """Every job has come to `state`, and the listeners are told."""
        for name in self.jobs:
            self.state[name] = state
            event = {"type": "executing", "data": {"node": None, "prompt_id": name}}
            for tell in self.listeners:
                await tell({"type": "websocket.send", "bytes": b"a preview"})
                await tell({"type": "websocket.send", "text": json.dumps(event)})

    def _answer(self, method: str, path: str, body: bytes, scope: Scope) -> tuple[int, object]:
        if method == "POST":
            return self._post(path, body)
        if path == "/queue":
            return 200, {
                "queue_running": self._rows("running"),
                "queue_pending": self._rows("pending"),
            }
        if path.startswith("/history"):
            name = path.removeprefix("/history").strip("/")
            return 200, {each: entry for each, entry in self._ended() if name in {"", each}}
        if path == "/view":
            query = parse_qs(scope["query_string"].decode())  # type: ignore[attr-defined]
            assert query == {"filename": ["a.png"], "subfolder": ["s"], "type": ["output"]}
            return 200, self.picture
        return 404, {}

    def _post(self, path: str, body: bytes) -> tuple[int, object]:
        if path == "/upload/image":
            head, _, rest = body.partition(b"application/octet-stream\r\n\r\n")
            name = head.split(b'filename="')[1].split(b'"')[0].decode()
            self.uploads[name] = rest.rpartition(b"\r\n--")[0]
            return 200, {"name": name, "subfolder": "", "type": "input"}
        said = json.loads(body)
        if path == "/prompt":
            if not said["prompt"]:
                return 400, {"error": {"message": "secret words of the backend"}}
            name = f"own-{len(self.jobs)}" if self.gives_names else said["prompt_id"]
            self.jobs[name], self.state[name] = said, "pending"
            return 200, {"prompt_id": name, "number": 1, "node_errors": {}}
        if path == "/queue":
            for name in said["delete"]:
                if self.state.get(name) == "pending":
                    del self.jobs[name], self.state[name]
            return 200, {}
        assert path == "/interrupt"
        self.interrupted.append(said["prompt_id"])
        return 200, {}

    def _rows(self, state: str) -> list[object]:
        return [
            [1, name, said["prompt"], said["extra_data"], []]
            for name, said in self.jobs.items()
            if self.state[name] == state
        ]

    def _ended(self) -> list[tuple[str, object]]:
        files = [{"filename": "a.png", "subfolder": "s", "type": "output"}]
        return [
            (
                name,
                {
                    "prompt": [1, name, said["prompt"], said["extra_data"], []],
                    "outputs": {"9": {"images": files}},
                    "status": {"status_str": self.state[name], "completed": True},
                },
            )
            for name, said in self.jobs.items()
            if self.state[name] in {"success", "error"}
        ]

    async def _tell(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        self.listeners.append(send)
        self.is_listened_to.set()
        await receive()
        self.listeners.remove(send)


@asynccontextmanager
async def fake_comfyui(**options: object) -> AsyncIterator[FakeComfyUi]:
    """One that takes requests until the block is left."""
    fake = FakeComfyUi(**options)  # type: ignore[arg-type]
    async with serving(fake) as served:
        fake.url = f"http://127.0.0.1:{served.port}"
        yield fake
