"""A session over ASGI: who may open one, how its handshake is answered, how either side ends it."""

import json
from typing import Any

import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.names import ClientId
from anvil_trio.views.fingerprint import public_sha256
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.realtime.fakes import EngineEnd
from tests.realtime.stage import Stage, open_stage, realtime_config
from tests.support.asgi import BEARER, TOKEN, request
from tests.support.asgi_socket import Socket, serve

PATH = "/v1/realtime"
KEY = f"openai-insecure-api-key.{TOKEN}"
QUERY = b"model=llm.primary"
CLIENTS = [
    ClientCredential(
        ClientId("caller"), frozenset({ClientScope.INFERENCE_USE}), "credential-of-caller"
    ),
    ClientCredential(
        ClientId("reader"), frozenset({ClientScope.WORKLOADS_READ}), "credential-of-reader"
    ),
]


class Side:
    """What our own server tells of a WebSocket's client."""

    def __init__(self) -> None:
        self.gone = False
        self.on_gone: Any = None
        self.close_code: int | None = None
        self.max_message_chars: int | None = None
        self.pings = 0

    async def ping(self) -> None:
        self.pings += 1
        await trio.lowlevel.checkpoint()

    def lose(self, socket: Socket, code: int | None = None) -> None:
        """The client goes: with a close frame of that code, or without one."""
        self.gone, self.close_code = True, code
        message = {"type": "websocket.disconnect", "code": 1006 if code is None else code}
        socket._coming.send_nowait(message)
        if self.on_gone is not None:
            self.on_gone()


def app_of(stage: Stage, token: str | None = TOKEN) -> App:
    """The application over a stage."""
    return App(stage.small.house, lambda: stage.small.generation, Authenticator(token, CLIENTS))


async def handshake(
    stage: Stage, *, token: str | None = TOKEN, until: bool = True, **scope: Any
) -> Socket:
    """A client that shakes hands; served until it is refused, or for as long as it is there."""
    socket = Socket()
    asked = {"path": PATH, "query_string": QUERY, **scope}
    stage.nursery.start_soon(lambda: serve(app_of(stage, token), socket, **asked))
    with trio.move_on_after(2):
        while not socket.sent:
            await trio.sleep(0.01)
        await trio.testing.wait_all_tasks_blocked()
    return socket


def accepted(socket: Socket) -> dict[str, Any]:
    """The acceptance of a handshake."""
    assert socket.kinds[0] == "websocket.accept", socket.sent
    return socket.sent[0]


@pytest.mark.parametrize(
    ("headers", "offered", "agreed"),
    [
        ([BEARER], [], None),
        ([(b"x-api-key", TOKEN.encode())], ["realtime"], "realtime"),
        ([], ["realtime", KEY], "realtime"),
        ([], ["realtime", KEY, "openai-beta.realtime-v1"], "realtime"),
        ([], [KEY], None),
        ([BEARER], ["realtime", KEY], "realtime"),
        ([(b"authorization", b"Bearer credential-of-caller")], [], None),
    ],
)
async def test_a_key_opens_a_session(autojump_clock, headers, offered, agreed):
    """By a header or as a subprotocol, which is never the one that is agreed on."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        socket = await handshake(stage, headers=headers, subprotocols=offered)
        assert accepted(socket)["subprotocol"] == agreed
        names = {name for name, _ in accepted(socket)["headers"]}
        assert {b"x-anvil-request-id", b"x-request-id"} <= names
        assert TOKEN not in str(socket.sent)
        socket.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert socket.is_over


@pytest.mark.parametrize(
    ("headers", "offered", "refusal"),
    [
        ([], [], (401, "authentication_error")),
        ([], ["realtime"], (401, "authentication_error")),
        ([], ["realtime", "openai-insecure-api-key.wrong"], (401, "authentication_error")),
        ([], ["realtime", TOKEN], (401, "authentication_error")),
        ([BEARER], ["openai-insecure-api-key.wrong"], (401, "authentication_error")),
        (
            [(b"x-api-key", b"credential-of-reader")],
            [],
            (403, "authorization_scope_denied"),
        ),
        ([BEARER, (b"origin", b"http://evil.test")], [], (403, "authorization_scope_denied")),
    ],
)
async def test_who_may_not_is_refused_on_the_handshake(autojump_clock, headers, offered, refusal):
    """401 without the right key, or with two; 403 without the scope, or for foreign pages."""
    async with open_stage() as stage:
        socket = await handshake(stage, headers=headers, subprotocols=offered)
        assert socket.refusal == refusal
        assert stage.small.engine().attempts == 0
        assert stage.small.records == []
        assert "wrong" not in str(socket.sent)


async def test_a_key_among_the_protocols_opens_nothing_else(autojump_clock):
    """The live feed and every other path take headers only."""
    async with open_stage() as stage:
        for path in ("/v1/router/events", "/v1/responses"):
            socket = await handshake(stage, path=path, headers=[], subprotocols=[KEY])
            assert socket.refusal == (401, "authentication_error")


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        (b"", (400, "invalid_request")),
        (b"model=nobody", (404, "model_not_found")),
        (b"model=llm.primary&key=secret", (400, "invalid_request")),
    ],
)
async def test_what_is_asked_for_is_judged_on_the_handshake(autojump_clock, query, refusal):
    """With the router's id and a record, as in chat."""
    async with open_stage() as stage:
        socket = await handshake(stage, query_string=query)
        assert socket.refusal == refusal
        assert any(name == b"x-anvil-request-id" for name, _ in socket.sent[0]["headers"])
        assert "secret" not in str(socket.sent)
        assert len(stage.small.records) == 1
        socket = await handshake(stage, query_string=query, extensions={})
        assert socket.kinds == ["websocket.close"], "a server that cannot answer in words"


async def test_a_plain_request_is_told_what_the_path_takes(autojump_clock):
    """426 for GET, 405 for POST."""
    async with open_stage() as stage:
        answer = await request(app_of(stage), "GET", PATH, query=QUERY)
        assert (answer.status, answer.code) == (426, "method_not_allowed")
        assert answer.headers[b"upgrade"] == b"websocket"
        answer = await request(app_of(stage), "POST", PATH)
        assert answer.status == 405


async def test_messages_pass_over_asgi(autojump_clock):
    """Text as text, bytes as bytes, of which the record counts bytes."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        side = Side()
        socket = await handshake(stage, extensions={"anvil.client": side})
        assert side.max_message_chars == stage.small.generation.config.server.max_event_bytes
        socket.say(text="hé", bytes=None)
        socket.say(text=None, bytes=b"\x00\x01\x02")
        await trio.testing.wait_all_tasks_blocked()
        assert socket.sent[1:] == [
            {"type": "websocket.send", "text": "hé"},
            {"type": "websocket.send", "bytes": b"\x00\x01\x02"},
        ]
        side.lose(socket, 1000)
        await trio.testing.wait_all_tasks_blocked()
        (record,) = stage.small.records
        assert (record.request_bytes, record.response_bytes) == (6, 6)
        assert record.workload_outcome == "success"
        assert socket.kinds[-1] == "websocket.send", "who closed is told nothing more"


async def test_a_close_in_good_order_is_no_vanishing(autojump_clock):
    """Our server tells them apart: what was said before the close still reaches the engine."""
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        side = Side()
        socket = await handshake(stage, extensions={"anvil.client": side})
        for number in range(9):
            socket.say(text=str(number))
        side.lose(socket, 4321)
        await trio.testing.wait_all_tasks_blocked()
        assert end.heard == list(map(str, range(9)))
        assert end.closes == [4321]
        assert socket.is_over


async def test_a_vanished_client_is_not_heard_out(autojump_clock):
    """Its session ends in the step in which our server knows."""
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        engine = stage.engine(end)
        side = Side()
        socket = await handshake(stage, extensions={"anvil.client": side})
        socket.say(text="never heard")
        side.lose(socket)
        await trio.testing.wait_all_tasks_blocked()
        assert end.heard == []
        assert engine.closed == 1
        (record,) = stage.small.records
        assert record.workload_outcome == "disconnected"


@pytest.mark.parametrize("is_ours", [True, False])
async def test_a_client_that_leaves_before_it_is_accepted(autojump_clock, is_ours):
    """Under our server and under another: nobody is connected for a client that has left."""

    async def silent(stream: trio.abc.Stream) -> None:
        await trio.sleep_forever()

    async with open_stage() as stage:
        engine = stage.engine(EngineEnd(stage.nursery, raw=silent))
        side, socket = Side(), Socket()
        extensions: dict[str, object] = {"anvil.client": side} if is_ours else {}
        stage.nursery.start_soon(
            lambda: serve(
                app_of(stage), socket, path=PATH, query_string=QUERY, extensions=extensions
            )
        )
        await trio.sleep(1)
        assert engine.opened == 1
        if is_ours:
            side.lose(socket)
        else:
            socket.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert socket.is_over
        assert socket.sent == []
        assert trio.current_time() < 1.1


async def test_a_client_that_had_left_before_it_was_heard(autojump_clock):
    """Our server knew already when the application began."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        side, socket = Side(), Socket()
        side.gone = True
        await serve(
            app_of(stage),
            socket,
            path=PATH,
            query_string=QUERY,
            extensions={"anvil.client": side},
        )
        assert socket.sent == []
        assert stage.small.engine().opened == stage.small.engine().closed


@pytest.mark.parametrize("code", [1000, None])
async def test_a_client_that_leaves_while_it_is_accepted(autojump_clock, code):
    """What our server told before the relay began is not missed."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        side, socket = Side(), Socket()
        send = socket.send

        async def leaving(message: Any) -> None:
            await send(message)
            if message["type"] == "websocket.accept":
                side.lose(socket, code)

        socket.send = leaving  # type: ignore[method-assign]
        began_at = trio.current_time()
        await serve(
            app_of(stage),
            socket,
            path=PATH,
            query_string=QUERY,
            extensions={"anvil.client": side},
        )
        assert trio.current_time() - began_at < 0.1


async def test_pings_reach_the_client_where_the_server_can(autojump_clock):
    """Our own can; a session under another server goes on without."""
    async with open_stage(realtime_config(ServerSettings(heartbeat_interval_s=1))) as stage:
        stage.engine(EngineEnd(stage.nursery))
        side = Side()
        ours = await handshake(stage, extensions={"anvil.client": side})
        other = await handshake(stage)
        await trio.sleep(3.5)
        assert side.pings == 3
        side.lose(ours, 1001)
        other.say(text="still here")
        await trio.testing.wait_all_tasks_blocked()
        assert other.sent[-1] == {"type": "websocket.send", "text": "still here"}
        other.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert other.is_over


async def test_an_engines_end_is_told_over_asgi(autojump_clock):
    """An error in the protocol's shape, then a close with a fixed word."""

    async def serve_one(connection: Any) -> None:
        await connection.get_message()
        await trio.aclose_forcefully(connection._stream)

    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery, serve_one))
        side = Side()
        socket = await handshake(stage, extensions={"anvil.client": side})
        socket.say(text="go")
        await trio.testing.wait_all_tasks_blocked()
        *_, error, _close = socket.sent
        assert json.loads(error["text"])["error"]["code"] == "upstream_error"
        assert socket.close == (1011, "upstream_error")


async def test_a_session_holds_its_generation(autojump_clock):
    """A configuration that is replaced lives until its sessions have ended."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        life = stage.small.generation.life
        socket = await handshake(stage)
        assert life.users.count == 1
        socket.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert life.users.count == 0


async def test_authentication_may_be_off(autojump_clock):
    """Then a session needs no key, and a foreign page still gets none."""
    async with open_stage() as stage:
        stage.engine(EngineEnd(stage.nursery))
        socket = await handshake(stage, token=None, headers=[])
        assert accepted(socket)
        foreign = await handshake(stage, token=None, headers=[(b"origin", b"http://evil.test")])
        assert foreign.refusal == (403, "authorization_scope_denied")
        socket.leave()
        await trio.testing.wait_all_tasks_blocked()


async def test_a_tier_with_sessions_is_named(autojump_clock):
    """Its alias and its capabilities say so; the surface's description has the path."""
    async with open_stage() as stage:
        app = app_of(stage)
        (model,) = (await request(app, "GET", "/v1/models")).json["data"]
        assert model["realtime"] is True
        (row,) = (await request(app, "GET", "/v1/models/capabilities")).json["data"]
        assert row["realtime"] is True
        described = (await request(app, "GET", "/openapi.json")).json
        assert "101" in described["paths"][PATH]["get"]["responses"]


def test_the_public_digest_covers_sessions():
    """Whether a tier has them is promised to clients."""
    plain = realtime_config()
    (tier,) = plain.tiers
    without = plain.model_copy(update={"tiers": (tier.model_copy(update={"realtime": False}),)})
    assert public_sha256(plain) != public_sha256(without)
