"""Clients of the authorization policy, through the whole application."""

import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.errors import Code, problem
from anvil_trio.names import ClientId
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from anvil_trio.web.chat import DIALECTS
from anvil_trio.web.router import ROUTES
from tests.support.asgi import BEARER, TOKEN, Side, request
from tests.support.chunks import good_reply, good_stream
from tests.support.fake_operations import FakeOperations
from tests.support.small_house import ALIAS, SmallHouse, chat_body, config_of, open_small_house

CHAT = "/v1/chat/completions"
INFERENCE = frozenset({
    CHAT,
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/responses/input_tokens",
    "/v1/realtime",
    "/v1/models",
    "/v1/models/capacity",
    "/v1/models/capabilities",
    "/v1/models/{model}",
    "/openapi.json",
})
REQUESTS = frozenset({"/v1/requests", "/v1/requests/{id}", "/v1/workloads"})
EVENTS = frozenset({"/v1/router/events"})
KEYS = {"desktop": b"desktop-key-0123456789", "watcher": b"watcher-key-0123456789"}
CLIENTS = (
    ClientCredential(
        ClientId("desktop"), frozenset({ClientScope.INFERENCE_USE}), KEYS["desktop"].decode()
    ),
    ClientCredential(
        ClientId("watcher"), frozenset({ClientScope.WORKLOADS_READ}), KEYS["watcher"].decode()
    ),
)


def app_of(small: SmallHouse) -> App:
    """The application with one operator and two clients."""
    return App(small.house, lambda: small.generation, Authenticator(TOKEN, CLIENTS))


def key_of(name: str) -> tuple[bytes, bytes]:
    """The credential header of one client."""
    return (b"x-api-key", KEYS[name])


@pytest.fixture
async def small():
    """A house in which the desktop and the operator's callers have one place each."""
    server = ServerSettings(
        auth_env="TOKEN", client_limits={"desktop": 1, "_legacy": 1}, workload_host="node-1"
    )
    async with open_small_house(config_of(server=server)) as small:
        small.engine("a").chat_default = good_reply()
        small.engine("b").chat_default = good_reply()
        small.house.operations = FakeOperations()
        yield small


@pytest.mark.parametrize(
    ("client", "allowed"), [("desktop", INFERENCE), ("watcher", REQUESTS | EVENTS)]
)
async def test_a_client_may_use_what_its_scopes_reach(client, allowed, small, autojump_clock):
    """Every route of the table: 200 within the scopes (426 where a WebSocket is), else 403."""
    for route in ROUTES.values():
        if route.scope is None:
            continue
        parts = [chat_body(max_tokens=9, input="hi")] if route.path in allowed else []
        answer = await request(
            app_of(small),
            route.method,
            route.path.format(model=ALIAS, id="req_of_nobody"),
            headers=[key_of(client)],
            query=b"active=1" if route.name == "requests" else b"",
            parts=parts,
            side=Side(),
        )
        if route.path in allowed:
            status = {"request": 404, "events": 426, "realtime": 426}.get(route.name, 200)
            assert answer.status == status
        else:
            what = problem(Code.SCOPE_DENIED)
            assert answer.status == 403
            assert answer.body == DIALECTS[route.dialect or "chat"].render_problem(what)
            assert answer.json["error"]["message"] == "This credential may not do this."
    assert len(small.records) == len(DIALECTS) * (client == "desktop")


async def test_a_path_or_method_that_is_not_there_is_no_matter_of_scopes(small, autojump_clock):
    """404 and 405 for every client alike."""
    for client in KEYS:
        headers = [key_of(client)]
        assert (await request(app_of(small), "GET", "/nowhere", headers=headers)).status == 404
        assert (await request(app_of(small), "GET", CHAT, headers=headers)).status == 405
        assert (await request(app_of(small), "GET", "/healthz", headers=headers)).status == 200


async def test_a_record_names_the_client_of_the_credential(small, autojump_clock):
    """Headers cannot choose the identity: not for the record, not for the budget."""
    claims = [(b"x-client-id", b"watcher"), (b"x-anvil-client-id", b"_legacy")]
    await request(
        app_of(small),
        "POST",
        CHAT,
        headers=[*claims, key_of("desktop")],
        parts=[chat_body(user="watcher", metadata={"client_id": "watcher"})],
        side=Side(),
    )
    assert [record.client_id for record in small.records] == ["desktop"]


async def test_budgets_are_those_of_the_credentials(small, autojump_clock):
    """Two of one client: 429 with the ids of every inference reply, and the operator goes on."""
    small.engine("a").chat = [good_stream("x", gap_s=5.0)]
    app, body = app_of(small), [chat_body(stream=True)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            lambda: request(app, "POST", CHAT, headers=[key_of("desktop")], parts=body, side=Side())
        )
        await trio.sleep(1)
        for disguise in ([], [(b"x-client-id", b"other"), (b"x-forwarded-for", b"10.0.0.9")]):
            headers = [*disguise, key_of("desktop"), (b"x-request-id", b"mine-1")]
            answer = await request(app, "POST", CHAT, headers=headers, parts=[], side=Side())
            assert (answer.status, answer.code) == (429, "client_concurrency_exhausted")
            assert answer.headers[b"retry-after"] == b"1"
            assert answer.headers[b"x-request-id"] == b"mine-1"
            assert answer.headers[b"x-anvil-request-id"].startswith(b"req_")
        answer = await request(app, "POST", CHAT, parts=[chat_body()], side=Side())
        assert answer.status == 200
        page = await request(app, "GET", "/v1/models/capacity", headers=[key_of("desktop")])
        assert page.status == 200  # discovery takes no place of the budget
    await small.assert_at_rest()


async def test_no_page_tells_of_other_clients(small, autojump_clock):
    """R012: what a client sees is what the operator sees there, without a client or a limit."""
    small.engine("a").chat = [good_stream("x", gap_s=5.0)]
    app, body = app_of(small), [chat_body(stream=True)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: request(app, "POST", CHAT, parts=body, side=Side()))
        await trio.sleep(1)
        pages = [(await request(app, "GET", "/v1/router/status")).body]
        for path in ("/v1/models", "/v1/models/capacity"):
            ours = await request(app, "GET", path)
            theirs = await request(app, "GET", path, headers=[key_of("desktop")])
            assert ours.body == theirs.body
            pages.append(ours.body)
    for word in (b"_legacy", b"desktop", b"watcher", b"client"):
        assert not any(word in page for page in pages)


async def test_two_credentials_of_two_clients_are_a_401(small, autojump_clock):
    """Decision 11: before routing, as for any wrong credential."""
    for more in (BEARER, (b"authorization", b"Bearer " + KEYS["watcher"])):
        answer = await request(app_of(small), "GET", "/nowhere", headers=[key_of("desktop"), more])
        assert (answer.status, answer.code) == (401, "authentication_error")
