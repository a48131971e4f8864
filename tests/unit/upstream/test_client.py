"""One attempt on one member, over a scripted engine and virtual time."""

import gzip

import httpx
import pytest
import trio
import trio.testing

from anvil_trio.errors import Code, UpstreamFailed
from anvil_trio.names import MemberId
from anvil_trio.upstream.client import Upstream, open_probe_client, open_stream
from anvil_trio.upstream.stream import END, Head, Received, UpstreamStream
from tests.support import fake_upstream
from tests.support.fake_upstream import FakeUpstream, Fault, Reply, reply, stream

URL = httpx.URL("http://engine.test/v1/chat/completions")
HEADERS = [(b"content-type", b"application/json")]


def upstream_of(engine: FakeUpstream) -> Upstream:
    """The way to that engine, with 5 s to dispatch."""
    return Upstream(MemberId("a"), URL, engine, None, 5.0, 1000)


async def read(stream: UpstreamStream) -> list[Received]:
    """Everything up to the end."""
    items = [await stream.receive()]
    while items[-1] != END:
        items.append(await stream.receive())
    return items


async def attempt(engine: FakeUpstream) -> list[Received]:
    """One whole exchange."""
    async with open_stream(upstream_of(engine), b"{}", HEADERS) as opened:
        return await read(opened)


async def test_a_reply_is_a_head_then_bytes_then_the_end(autojump_clock):
    """A stream gives the head first, then what each read brought, at last the end."""
    engine = FakeUpstream(chat=[stream(b"one", 3.0, b"two", head_after_s=2.0)])
    assert await attempt(engine) == [Head(200, fake_upstream.SSE), b"one", b"two", END]
    assert (engine.opened, engine.closed) == (1, 1)


async def test_entering_returns_at_the_dispatch(autojump_clock):
    """The block is entered once the request is written, long before the head comes."""
    engine = FakeUpstream(chat=[reply(b"{}", after_s=60.0)])
    async with open_stream(upstream_of(engine), b"body", HEADERS):
        assert trio.current_time() == 0
        (call,) = engine.chats
        assert (call.body, call.request.method, call.request.url) == (b"body", "POST", URL)
        assert call.request.headers.raw == HEADERS


@pytest.mark.parametrize("script", [fake_upstream.STALLED_CONNECT, fake_upstream.STALLED_WRITE])
async def test_a_dispatch_has_a_deadline(autojump_clock, script):
    """Connecting and writing take at most the tier's timeout, then it is a 504."""
    engine = FakeUpstream(chat=[script])
    with pytest.raises(UpstreamFailed) as caught:
        await attempt(engine)
    assert caught.value.problem.code is Code.CONNECT_TIMEOUT
    assert trio.current_time() == 5
    assert engine.opened == engine.closed


async def test_a_read_has_no_deadline_here(autojump_clock):
    """The dispatch's timeout never bounds a read."""
    engine = FakeUpstream(chat=[stream(b"late", head_after_s=1000.0)])
    assert (await attempt(engine))[1:] == [b"late", END]


@pytest.mark.parametrize(
    "script",
    [
        fake_upstream.REFUSED,
        fake_upstream.BROKEN_WRITE,
        Reply((Fault.RESET,)),
        Reply((Fault.MALFORMED,)),
        stream(b"some", Fault.CUT),
        stream(b"some", Fault.RESET),
        reply(b"x", headers=((b"content-encoding", b"br"),)),
        reply(b"x", headers=((b"content-encoding", b"gzip"),)),
    ],
)
async def test_every_fault_is_one_failed_attempt(autojump_clock, script):
    """R009: whatever breaks, it was attempted once, is a 502 without a cause, and is closed."""
    engine = FakeUpstream(chat=[script])
    with pytest.raises(UpstreamFailed) as caught:
        await attempt(engine)
    assert caught.value.problem.code is Code.UPSTREAM_ERROR
    assert caught.value.__suppress_context__
    assert engine.attempts == 1
    assert engine.opened == engine.closed


async def test_a_cancelled_block_closes_its_stream(autojump_clock):
    """Leaving by cancellation in the middle of a reply closes the connection at once."""
    engine = FakeUpstream(chat=[stream(b"one", Fault.STALL)])
    with trio.move_on_after(9) as scope:
        await attempt(engine)
    assert scope.cancelled_caught
    assert (engine.opened, engine.closed, trio.current_time()) == (1, 1, 9)


async def test_a_cancelled_dispatch_leaves_nothing_open(autojump_clock):
    """Leaving while the request is being written closes the half-open connection."""
    engine = FakeUpstream(chat=[fake_upstream.STALLED_WRITE])
    with trio.move_on_after(1) as scope:
        await attempt(engine)
    assert scope.cancelled_caught
    assert (engine.opened, engine.closed) == (1, 1)


async def test_a_timeout_round_receive_loses_nothing(autojump_clock):
    """A heartbeat may cut into a silence any number of times: the next bytes still come."""
    engine = FakeUpstream(chat=[stream(b"one", 10.0, b"two", head_after_s=10.0)])
    beats, items = 0, []
    async with open_stream(upstream_of(engine), b"", HEADERS) as opened:
        while END not in items:
            with trio.move_on_after(3):
                items.append(await opened.receive())
                continue
            beats += 1
    assert [item for item in items if isinstance(item, bytes)] == [b"one", b"two"]
    assert (beats, trio.current_time()) == (6, 20)


async def test_a_coded_reply_arrives_plain(autojump_clock):
    """A gzip answer that nobody asked for is decoded on the way, across its reads."""
    packed = gzip.compress(b"data: hello\n\n" * 50)
    headers = ((b"content-encoding", b"gzip"), (b"content-type", b"text/event-stream"))
    engine = FakeUpstream(chat=[Reply((Head(200, headers), packed[:9], packed[9:], END))])
    items = await attempt(engine)
    assert items[0] == Head(200, fake_upstream.SSE)
    assert b"".join(item for item in items if isinstance(item, bytes)) == b"data: hello\n\n" * 50


async def test_a_read_that_is_worth_many_pieces_lets_others_have_their_turn(autojump_clock):
    """Who is given a coded read's pieces can be cut between two of them, however much it holds."""
    packed = gzip.compress(b":\n\n" * 1_000_000)
    headers = ((b"content-encoding", b"gzip"), (b"content-type", b"text/event-stream"))
    engine = FakeUpstream(chat=[Reply((Head(200, headers), packed, END))])
    given: list[bytes] = []
    with trio.CancelScope() as scope:

        def hand_on(data: bytes) -> bool:
            given.append(data)
            scope.cancel()
            return True

        async with open_stream(upstream_of(engine), b"{}", HEADERS) as stream:
            await stream.receive()
            await stream.flow(hand_on)
    assert scope.cancelled_caught
    assert (len(given), engine.opened, engine.closed) == (1, 1, 1)


async def test_a_test_may_go_on_feeding_a_reply(autojump_clock, nursery):
    """A fake reply can be written by hand while somebody reads it."""
    engine = FakeUpstream(chat=[Reply()])
    got: list[Received] = []

    async def run() -> None:
        got.extend(await attempt(engine))

    nursery.start_soon(run)
    call = await engine.call(0)
    call.feed(Head(200), b"by hand", END)
    await call.closed.wait()
    await trio.testing.wait_all_tasks_blocked()
    assert got == [Head(200), b"by hand", END]


async def test_a_probe_client_speaks_to_the_authority_root(autojump_clock):
    """Paths begin at the root, and nothing of the caller's environment travels."""
    engine = FakeUpstream(model="served-model")
    async with open_probe_client(engine, "http://engine.test:1/deep/v1") as client:
        response = await client.get("/v1/models")
    assert response.json()["data"] == [{"id": "served-model"}]
    (call,) = engine.probes
    assert call.request.url == "http://engine.test:1/v1/models"
    assert call.request.headers["accept-encoding"] == "identity"
    assert (engine.opened, engine.closed) == (1, 1)


@pytest.mark.parametrize("location", [b"http://elsewhere.test/", b"http://[::1", b"http://\x01"])
async def test_a_probe_client_follows_no_redirect(autojump_clock, location):
    """A redirect is an answer like any other and leads nowhere, wherever it points."""
    moved = reply(status=302, headers=((b"location", location),))
    engine = FakeUpstream(health=moved)
    async with open_probe_client(engine, "http://engine.test") as client:
        assert (await client.get("/health")).status_code == 302
    assert engine.attempts == 1


async def test_a_probe_that_is_given_up_closes_its_connection(autojump_clock):
    """Giving up on a head that does not come leaves nothing open."""
    engine = FakeUpstream(health=Reply((Fault.STALL,)))
    async with open_probe_client(engine, "http://engine.test") as client:
        with trio.move_on_after(1) as scope:
            await client.get("/health")
    assert scope.cancelled_caught
    assert (engine.opened, engine.closed) == (1, 1)


async def test_the_fake_engine_serves_a_plain_async_client_too(autojump_clock):
    """FakeUpstream is an httpx transport of its own."""
    engine = FakeUpstream(chat=[stream(b"data: x\n\n")])
    async with httpx.AsyncClient(transport=engine) as client:
        response = await client.post(URL, content=b"{}")
    assert response.content == b"data: x\n\n"
    assert engine.chats[0].body == b"{}"
