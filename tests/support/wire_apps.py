"""Small ASGI applications for servers under test, and a program that serves one of them.

`python -m tests.support.wire_apps NAME [--files N] [--shutdown S]` prints the port it listens on
and serves until a signal.
"""

import argparse
import resource
import sys
from collections.abc import Awaitable, Callable, MutableMapping

import trio

from anvil_trio.server.inbox import Direct, Inbox

__all__ = [
    "Handler",
    "Receive",
    "Scope",
    "Send",
    "asgi",
    "client_of",
    "direct_of",
    "echo",
    "part",
    "read_body",
    "reply",
    "sse_head",
]

Scope = MutableMapping[str, object]
Receive = Callable[[], Awaitable[MutableMapping[str, object]]]
Send = Callable[[MutableMapping[str, object]], Awaitable[None]]
Handler = Callable[[Scope, Receive, Send], Awaitable[None]]


def asgi(handler: Handler) -> Handler:
    """An application that answers for its lifespan and leaves the rest to `handler`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await handler(scope, receive, send)
            return
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    return app


def client_of(scope: Scope) -> Inbox:
    """What our server tells about the client of this request."""
    extensions = scope["extensions"]
    assert isinstance(extensions, dict)
    inbox = extensions["anvil.client"]
    assert isinstance(inbox, Inbox)
    return inbox


def direct_of(scope: Scope) -> Direct:
    """What takes this request's reply without waiting."""
    direct = client_of(scope).direct
    assert direct is not None
    return direct


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request."""
    body = b""
    while True:
        message = await receive()
        assert message["type"] == "http.request", message
        part = message["body"]
        assert isinstance(part, bytes)
        body += part
        if not message["more_body"]:
            return body


async def reply(
    send: Send, body: bytes = b"ok", status: int = 200, *headers: tuple[bytes, bytes]
) -> None:
    """One whole reply with a length."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def sse_head(send: Send) -> None:
    """The head of a stream."""
    kind = (b"content-type", b"text/event-stream")
    await send({"type": "http.response.start", "status": 200, "headers": [kind]})


async def part(send: Send, data: bytes, *, is_last: bool = False) -> None:
    """One part of a stream."""
    await send({"type": "http.response.body", "body": data, "more_body": not is_last})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what it was told."""
    await reply(send, await read_body(receive))


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    """Ten events, a tenth of a second apart."""
    await read_body(receive)
    await sse_head(send)
    for number in range(10):
        await part(send, b"data: %d\n\n" % number)
        await trio.sleep(0.1)
    await part(send, b"data: [DONE]\n\n", is_last=True)


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    """Never answers, whatever happens."""
    await sse_head(send)
    await trio.sleep_forever()


HANDLERS = {"echo": echo, "slow": slow, "silent": silent}


def announce(port: int) -> None:
    """Say where to find us."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


async def serve(handler: Handler, shutdown_s: float) -> bool:
    """Serve until a signal; the port goes to standard output once connections are taken."""
    from anvil_trio.server.accept import Server
    from anvil_trio.server.listen import listen
    from anvil_trio.server.options import ServerOptions
    from anvil_trio.server.signals import run_until_signalled

    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    options = ServerOptions(shutdown_timeout_s=shutdown_s, farewell_s=0.2)
    server = Server(asgi(handler), options, [listener])
    return await run_until_signalled(server, lambda: announce(port))


def main() -> None:
    """Serve, and exit with 0 after a graceful stop, 3 after one cut short."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=HANDLERS)
    parser.add_argument("--files", type=int)
    parser.add_argument("--shutdown", type=float, default=10.0)
    chosen = parser.parse_args()
    if chosen.files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (chosen.files, chosen.files))
    sys.exit(0 if trio.run(serve, HANDLERS[chosen.name], chosen.shutdown) else 3)


if __name__ == "__main__":
    main()
