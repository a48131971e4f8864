"""The live feed as its subscribers meet it: who may, what they read, how it ends."""

import json
import sys

import pytest
import trio
import trio.testing

from anvil_trio import __version__
from anvil_trio.actors.bus import Subscription
from anvil_trio.config.model import ServerSettings
from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.decisions.events import IntentChanged
from anvil_trio.exchange.subscribers import MAX_SUBSCRIBERS
from anvil_trio.names import ClientId, TierId
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from anvil_trio.web.feed import BUFFER_EVENTS, MAX_CLIENT_BYTES
from tests.support.asgi import BEARER, TOKEN, Side, request
from tests.support.asgi_socket import EVENTS, Socket, serve, subscribed
from tests.support.chunks import good_reply
from tests.support.fake_upstream import REFUSED, FakeUpstream
from tests.support.operated import CHAT, open_operated
from tests.support.small_house import TIER, chat_body, config_of, open_small_house

HELLO = {
    "type": "hello",
    "schema": "anvil-router-events/v1",
    "router_version": __version__,
    "heartbeat_interval_s": 15,
}
HEARTBEAT = {"type": "heartbeat"}
CLIENTS = {
    "reader": frozenset({ClientScope.WORKLOADS_READ}),
    "caller": frozenset({ClientScope.INFERENCE_USE}),
}
READER = (b"authorization", b"Bearer credential-of-reader")
CALLER = (b"x-api-key", b"credential-of-caller")


@pytest.fixture
async def small():
    """A house of two ready replicas."""
    async with open_small_house(make_engine=answering) as small:
        yield small


def answering() -> FakeUpstream:
    """An engine that answers every request whole."""
    return FakeUpstream(chat_default=good_reply())


def app_of(small, token: str | None = TOKEN) -> App:
    """Its application, with a client of each scope."""
    clients = [
        ClientCredential(ClientId(name), scopes, f"credential-of-{name}")
        for name, scopes in CLIENTS.items()
    ]
    return App(small.house, lambda: small.generation, Authenticator(token, clients))


def change(number: int) -> IntentChanged:
    """An event that tells its number."""
    return IntentChanged(TierId(f"tier-{number}"), None, is_quiesced=True)


def numbers(socket: Socket) -> list[int]:
    """The numbers of the changes that a subscriber has read."""
    return [int(one["tier_id"][5:]) for one in socket.told if one["type"] == "intent"]


@pytest.mark.parametrize("headers", [[BEARER], [READER], [READER, READER]])
async def test_the_operator_and_readers_of_workloads_may_follow(headers, small, autojump_clock):
    """The first message names the schema; nothing of before is told."""
    small.house.bus.publish(change(1))
    async with subscribed(app_of(small), headers=headers) as socket:
        assert socket.kinds == ["websocket.accept", "websocket.send"]
        assert socket.told == [HELLO]


async def test_without_authentication_everyone_may(small, autojump_clock):
    """Then everyone is the operator, as everywhere."""
    async with subscribed(app_of(small, None), headers=[]) as socket:
        assert socket.told == [HELLO]


@pytest.mark.parametrize(
    ("scope", "refusal"),
    [
        ({"headers": []}, (401, "authentication_error")),
        ({"headers": [(b"x-api-key", b"wrong")]}, (401, "authentication_error")),
        ({"headers": [CALLER]}, (403, "authorization_scope_denied")),
        ({"query_string": b"canary=1"}, (400, "invalid_request")),
        (
            {"headers": [BEARER, (b"origin", b"https://canary.test")]},
            (403, "authorization_scope_denied"),
        ),
    ],
    ids=str,
)
async def test_who_may_not_is_told_before_the_handshake(scope, refusal, small, autojump_clock):
    """One fixed answer over HTTP, no seat, and nothing of what was sent (R012)."""
    socket = Socket()
    await serve(app_of(small), socket, **scope)
    assert socket.refusal == refusal
    assert "canary" not in str(socket.sent)
    assert len(small.house.subscribers) == 0


async def test_a_server_that_cannot_answer_in_words_closes(small, autojump_clock):
    """Without the extension a refusal is the server's own 403."""
    socket = Socket()
    await serve(app_of(small), socket, headers=[CALLER], extensions={})
    assert socket.kinds == ["websocket.close"]


async def test_pages_of_a_listed_origin_may_follow(autojump_clock):
    """`cors_origins` says whose; the same origin by another spelling is the same."""
    server = ServerSettings(cors_origins=("https://panel.test",))
    async with (
        open_small_house(config_of(server=server)) as small,
        subscribed(app_of(small), headers=[BEARER, (b"origin", b"https://panel.test:443")]) as one,
    ):
        assert one.told == [HELLO]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_plain_request_is_told_to_upgrade(method, small, autojump_clock):
    """426 with what to do instead; strangers and others are refused as everywhere."""
    answer = await request(app_of(small), method, EVENTS, side=Side())
    assert (answer.status, answer.headers[b"upgrade"]) == (426, b"websocket")
    if method == "GET":
        assert (answer.code, answer.json["error"]["message"]) == (
            "method_not_allowed",
            "This path takes a WebSocket.",
        )
    for headers, status in (([], 401), ([CALLER], 403)):
        answer = await request(app_of(small), method, EVENTS, headers=headers, side=Side())
        assert answer.status == status


async def test_a_record_is_told_as_it_is_made(small, autojump_clock):
    """The request that has just ended, with the keys of the journal's line."""
    async with subscribed(app_of(small)) as socket:
        await small.chat()
        await trio.testing.wait_all_tasks_blocked()
        [hello, told] = socket.told
        assert (hello["type"], told["type"]) == ("hello", "request")
        assert told.keys() == {"type", "record"}
        assert told["record"]["workload_outcome"] == "success"
        assert told["record"]["gateway_request_id"] == small.records[0].gateway_request_id


async def test_an_operators_orders_are_told(autojump_clock):
    """Quiesce, the drain's begin and end, readmission: in that order."""
    async with open_operated() as operated, subscribed(operated.app) as socket:
        await operated.order("quiesce", "a")
        await operated.order("drain", "a")
        await operated.order("readmit", "a")
        await trio.testing.wait_all_tasks_blocked()
        told = [one for one in socket.told[1:] if one["type"] != "readiness"]
        target = {"tier_id": TIER, "member_id": "a"}
        assert told == [
            {"type": "intent", **target, "quiesced": True},
            {"type": "drain", **target, "phase": "started"},
            {"type": "drain", **target, "phase": "drained"},
            {"type": "intent", **target, "quiesced": False},
        ]


async def test_a_change_of_readiness_is_told(autojump_clock):
    """A member whose engine fails is told of, with the reason of the pages."""
    async with open_operated() as operated, subscribed(operated.app) as socket:
        operated.engine("b").health = REFUSED
        await trio.sleep(20)
        assert {
            "type": "readiness",
            "tier_id": TIER,
            "member_id": "b",
            "ready": False,
            "reason": "health_transport",
        } in socket.told


async def test_silence_is_filled(small, autojump_clock):
    """A heartbeat after each `heartbeat_interval_s` in which nothing happened."""
    async with subscribed(app_of(small)) as socket:
        await trio.sleep(31)
        assert socket.told == [HELLO, HEARTBEAT, HEARTBEAT]
        small.house.bus.publish(change(1))
        await trio.sleep(14.5)
        assert socket.told[3:] == [
            {"type": "intent", "tier_id": "tier-1", "member_id": None, "quiesced": True}
        ]


async def test_a_slow_reader_loses_the_oldest_and_is_told_how_many(small, autojump_clock):
    """What it reads next is the number lost, then the newest of the buffer, in order."""
    async with subscribed(app_of(small)) as socket:
        more = 7
        for number in range(BUFFER_EVENTS + more):
            small.house.bus.publish(change(number))
        await trio.testing.wait_all_tasks_blocked()
        assert socket.told[1] == {"type": "dropped", "count": more}
        assert numbers(socket) == list(range(more, BUFFER_EVENTS + more))
        for number in range(BUFFER_EVENTS + 1):
            small.house.bus.publish(change(number))
        await trio.testing.wait_all_tasks_blocked()
        drops = [one["count"] for one in socket.told if one["type"] == "dropped"]
        assert drops == [more, 1]


async def test_slow_subscribers_cost_the_chat_path_nothing(small, autojump_clock):
    """Neither time nor memory without bound: publishing never waits, and the buffers are full."""
    async with trio.open_nursery() as nursery:
        for _ in range(MAX_SUBSCRIBERS):
            socket = Socket()
            socket.is_stuck = True
            nursery.start_soon(serve, app_of(small), socket)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        for number in range(5_000):
            small.house.bus.publish(change(number))
        assert trio.current_time() == began
        for watched in small.house.bus._subscriptions:
            assert len(watched._unread) == BUFFER_EVENTS
            assert watched.dropped == 5_000 - BUFFER_EVENTS
        assert len(small.house.bus._subscriptions) == MAX_SUBSCRIBERS
        caller = await small.chat()
        assert caller.status == 200
        assert trio.current_time() == began
        await small.assert_at_rest()
        nursery.cancel_scope.cancel()


async def test_publishing_costs_one_step_for_each_subscriber(small, monkeypatch, autojump_clock):
    """O(subscribers): each is offered the event once, whatever waits in it."""
    offers: list[None] = []
    offer = Subscription.offer
    monkeypatch.setattr(Subscription, "offer", lambda me, event: offers.append(offer(me, event)))
    async with subscribed(app_of(small)), subscribed(app_of(small)), subscribed(app_of(small)):
        for number in range(10):
            small.house.bus.publish(change(number))
    assert len(offers) == 30


async def test_a_write_that_stalls_ends_the_subscription(small, autojump_clock):
    """After `client_stall_timeout_s`, with its reason, and the seat is free again."""
    async with subscribed(app_of(small)) as socket:
        socket.is_stuck = True
        small.house.bus.publish(change(1))
        await trio.sleep(59)
        assert "websocket.close" not in socket.kinds
        await trio.sleep(2.1)
        assert socket.is_over
        assert socket.close == (1008, "too_slow")
        assert len(small.house.subscribers) == 0
        assert small.house.bus._subscriptions == []


@pytest.mark.parametrize(
    ("message", "is_closed"),
    [
        ({"text": "x" * MAX_CLIENT_BYTES, "bytes": None}, False),
        ({"text": "x" * (MAX_CLIENT_BYTES + 1)}, True),
        ({"text": "é" * (MAX_CLIENT_BYTES // 2 + 1)}, True),
        ({"text": None, "bytes": bytes(MAX_CLIENT_BYTES)}, False),
        ({"bytes": bytes(MAX_CLIENT_BYTES + 1)}, True),
    ],
)
async def test_what_a_client_says_is_ignored_while_it_is_little(
    message, is_closed, small, autojump_clock
):
    """Small messages change nothing; a bigger one closes with 1009."""
    async with subscribed(app_of(small)) as socket:
        for _ in range(3):
            socket.say(**message)
        await trio.testing.wait_all_tasks_blocked()
        assert socket.is_over is is_closed
        if is_closed:
            assert socket.close == (1009, "message_too_big")
        else:
            assert socket.told == [HELLO]


@pytest.mark.parametrize("is_stuck", [False, True])
async def test_a_client_that_leaves_frees_its_seat_at_once(is_stuck, small, autojump_clock):
    """Also in the middle of a write; nothing more is sent."""
    async with subscribed(app_of(small)) as socket:
        socket.is_stuck = is_stuck
        small.house.bus.publish(change(1))
        await trio.testing.wait_all_tasks_blocked()
        sent, began = len(socket.sent), trio.current_time()
        socket.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert (socket.is_over, len(socket.sent)) == (True, sent)
        assert trio.current_time() == began
        assert len(small.house.subscribers) == 0


async def test_there_are_so_many_seats(small, autojump_clock):
    """One more is a 503; whoever leaves makes room."""
    async with trio.open_nursery() as nursery:
        sockets = [Socket() for _ in range(MAX_SUBSCRIBERS)]
        for socket in sockets:
            nursery.start_soon(serve, app_of(small), socket)
        await trio.testing.wait_all_tasks_blocked()
        assert [socket.told for socket in sockets] == [[HELLO]] * MAX_SUBSCRIBERS
        late = Socket()
        await serve(app_of(small), late)
        assert late.refusal == (503, "server_busy")
        assert (b"retry-after", b"1") in late.sent[0]["headers"]
        sockets[0].leave()
        await trio.testing.wait_all_tasks_blocked()
        async with subscribed(app_of(small)) as other:
            assert other.told == [HELLO]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("is_stuck", [False, True])
async def test_a_stop_says_going_away(is_stuck, small, autojump_clock):
    """1001 at once, at most a second later where nobody reads; who comes then is refused."""
    async with subscribed(app_of(small)) as socket:
        socket.is_stuck = is_stuck
        small.house.bus.publish(change(1))
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        small.house.drain()
        await trio.sleep(1.01 if is_stuck else 0.001)
        assert socket.is_over
        assert socket.close == (1001, "shutting_down")
        assert trio.current_time() - began < 1.1
    late = Socket()
    await serve(app_of(small), late)
    assert late.refusal == (503, "shutting_down")
    assert small.house.is_draining


async def test_a_feed_that_is_followed_takes_no_chat_place(small, autojump_clock):
    """Subscribers stand at no door that a request goes through."""
    async with subscribed(app_of(small)):
        assert (await small.house.admission.inspect()).active == 0
        answer = await request(app_of(small), "POST", CHAT, parts=[chat_body()], side=Side())
        assert answer.status == 200


async def test_messages_are_small(small, autojump_clock):
    """The buffer's bound in events is one in bytes: a record is less than four KiB."""
    await small.chat(session="s" * 128)
    record = small.records[0]
    async with subscribed(app_of(small)) as socket:
        await small.chat(session="s" * 128)
        await trio.testing.wait_all_tasks_blocked()
        assert len(json.dumps(socket.told[-1])) < 4096
        assert sys.getsizeof(record) < 1024
