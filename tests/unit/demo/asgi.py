"""Calls the engine as a server would, with messages in memory."""

import json
from collections.abc import Callable

from anvil_trio.demo.engine import Engine, EngineOptions
from anvil_trio.demo.slots import Pace

FAST = Pace(tokens_per_second=100, prefill_tokens_per_second=1_000)


class Client:
    """The server's extension object: `leave()` is what a closed connection does."""

    gone: bool = False
    on_gone: Callable[[], None] | None = None

    def leave(self):
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()


class Call:
    """One request and what was answered so far."""

    def __init__(self, engine, method, path, body=b"", parts=None):
        self.engine = engine
        self.client = Client()
        self.scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": [],
            "extensions": {"anvil.client": self.client},
        }
        chunks = parts if parts is not None else [body]
        self.incoming = [
            {"type": "http.request", "body": part, "more_body": index < len(chunks) - 1}
            for index, part in enumerate(chunks)
        ]
        self.sent = []

    async def receive(self):
        return self.incoming.pop(0) if self.incoming else {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)

    async def run(self):
        await self.engine(self.scope, self.receive, self.send)
        return self

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def headers(self):
        return dict(self.sent[0]["headers"])

    @property
    def body(self):
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        return [line.removeprefix("data: ") for line in self.body.decode().split("\n\n") if line]


def engine(**options):
    """An engine with one quick slot, unless told otherwise."""
    return Engine(EngineOptions(**{"slots": 1, "pace": FAST, **options}))


def chat(on_engine, prompt="hello", **fields):
    """A chat request that has not been sent yet."""
    asked = {"model": "demo-model", "messages": [{"role": "user", "content": prompt}], **fields}
    return Call(on_engine, "POST", "/v1/chat/completions", json.dumps(asked).encode())
