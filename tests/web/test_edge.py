"""The edge: probes, HEAD, OPTIONS, browsers, wrong paths, model pages in two shapes."""

import pytest

from anvil_trio.config.model import ServerSettings
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN, Side, request
from tests.support.small_house import (
    SmallHouse,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
    replica_tier,
)

CHAT = "/v1/chat/completions"
PAGE = b"https://app.example"
ANTHROPIC = (b"anthropic-version", b"2023-06-01")
ASKS = [
    (b"origin", PAGE),
    (b"access-control-request-method", b"POST"),
    (b"access-control-request-headers", b"authorization,content-type"),
]


def app_of(small: SmallHouse) -> App:
    """The application over a small house."""
    return App(small.house, lambda: small.generation, Authenticator(TOKEN))


@pytest.fixture
async def small():
    """A house of two tiers that lets pages of two origins in."""
    origins = ("https://APP.example:443", "http://localhost:3000")
    config = config_of(
        replica_tier(),
        direct_tier("second", max_output_tokens=512),
        server=ServerSettings(cors_origins=origins, max_body_bytes=1024),
    )
    async with open_small_house(config) as small:
        yield small


@pytest.mark.parametrize("headers", [[], [BEARER]])
async def test_the_root_says_that_something_is_here(headers, small, autojump_clock):
    """Claude Code probes `/` with HEAD before it shows a key; the answer is fixed and open."""
    answer = await request(app_of(small), "GET", "/", headers=headers)
    assert (answer.status, answer.json) == (200, {"name": "anvil-serving"})
    head = await request(app_of(small), "HEAD", "/", headers=headers)
    assert (head.status, head.body, head.headers) == (200, b"", answer.headers)


@pytest.mark.parametrize(
    "path", ["/healthz", "/v1/models", "/v1/models/capacity", "/v1/router/status"]
)
async def test_head_has_the_head_of_get(path, small, autojump_clock):
    """The same status and headers, Content-Length included, and no body."""
    get = await request(app_of(small), "GET", path)
    head = await request(app_of(small), "HEAD", path)
    assert (head.status, head.headers, head.body) == (get.status, get.headers, b"")
    assert head.is_over


@pytest.mark.parametrize(("path", "status"), [("/v1/messages", 405), ("/nowhere", 404)])
async def test_head_of_anything_else_is_a_refusal_without_a_body(
    path, status, small, autojump_clock
):
    """Probes of POST paths and of nothing get a head only, and leave no record."""
    answer = await request(app_of(small), "HEAD", path)
    assert (answer.status, answer.body) == (status, b"")
    assert small.records == []


@pytest.mark.parametrize(("path", "allow"), [(CHAT, b"POST"), ("/v1/models", b"GET, HEAD")])
async def test_options_names_the_methods(path, allow, small, autojump_clock):
    """204 with Allow, for a caller with a key."""
    answer = await request(app_of(small), "OPTIONS", path)
    assert (answer.status, answer.body, answer.headers[b"allow"]) == (204, b"", allow)
    assert (await request(app_of(small), "OPTIONS", path, headers=[])).status == 401
    assert (await request(app_of(small), "OPTIONS", "/nowhere")).status == 404


@pytest.mark.parametrize("path", [CHAT, "/nowhere"])
async def test_a_preflight_of_a_listed_origin_needs_no_key(path, small, autojump_clock):
    """Decision 22: the answer is the same at every path and permits what was asked about."""
    answer = await request(app_of(small), "OPTIONS", path, headers=ASKS)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers == {
        b"access-control-allow-origin": PAGE,
        b"access-control-allow-methods": b"GET, HEAD, POST",
        b"access-control-allow-headers": b"authorization,content-type",
        b"access-control-max-age": b"600",
        b"vary": b"Origin, Access-Control-Request-Headers",
    }


async def test_odd_header_names_are_not_repeated(small, autojump_clock):
    """What a preflight asks about is echoed only if it can be a list of names."""
    asks = [*ASKS[:2], (b"access-control-request-headers", b"x: y")]
    answer = await request(app_of(small), "OPTIONS", CHAT, headers=asks)
    assert answer.status == 204
    assert b"access-control-allow-headers" not in answer.headers


@pytest.mark.parametrize("origin", [b"https://evil.example", b"http://app.example", b"null"])
async def test_another_origin_is_told_nothing(origin, small, autojump_clock):
    """Neither by a preflight, which is then an OPTIONS without a key, nor by a reply."""
    asks = [(b"origin", origin), *ASKS[1:]]
    answer = await request(app_of(small), "OPTIONS", CHAT, headers=asks)
    assert (answer.status, answer.headers[b"vary"]) == (401, b"Origin")
    answer = await request(
        app_of(small), "GET", "/v1/models", headers=[BEARER, (b"origin", origin)]
    )
    assert answer.status == 200
    assert b"access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("key", [[], [BEARER]])
async def test_a_page_of_a_listed_origin_may_read_replies(key, small, autojump_clock):
    """Refusals too; our own headers are exposed, and caches keep origins apart."""
    headers = [*key, (b"origin", b"http://localhost:3000")]
    answer = await request(app_of(small), "GET", "/v1/models", headers=headers)
    assert answer.status == (200 if key else 401)
    assert answer.headers[b"access-control-allow-origin"] == b"http://localhost:3000"
    assert b"X-Anvil-Request-Id" in answer.headers[b"access-control-expose-headers"]
    assert answer.headers[b"vary"] == b"Origin"


async def test_without_cors_origins_nothing_is_said_of_origins(autojump_clock):
    """Off by default: a preflight is an OPTIONS like any other, and no reply varies."""
    async with open_small_house() as small:
        answer = await request(app_of(small), "OPTIONS", CHAT, headers=ASKS)
        assert answer.status == 401
        answer = await request(app_of(small), "GET", "/v1/models", headers=[BEARER, ASKS[0]])
        assert b"vary" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/v1/chat/completions", "/chat/completions", "//v1" + CHAT])
async def test_a_hint_names_the_right_path(path, small, autojump_clock):
    """A path joined wrongly is a 404 that says where to go; nothing is called or recorded."""
    answer = await request(app_of(small), "POST", path, parts=[chat_body()])
    assert (answer.status, answer.code) == (404, "not_found")
    assert f" {CHAT}," in answer.json["error"]["message"]
    assert small.records == []


async def test_refusals_are_in_the_words_of_whoever_asks(small, autojump_clock):
    """Anthropic's clients get Anthropic's shape: by the path that was meant, or their version."""
    for path in ("/v1/v1/messages", "/messages"):
        answer = await request(app_of(small), "POST", path)
        assert answer.json["type"] == "error"
        assert "the path is /v1/messages," in answer.json["error"]["message"]
    answer = await request(app_of(small), "GET", "/nowhere", headers=[BEARER, ANTHROPIC])
    assert answer.json["error"]["type"] == "not_found_error"
    answer = await request(app_of(small), "GET", "/v1/models", headers=[ANTHROPIC])
    assert (answer.status, answer.json["error"]["type"]) == (401, "authentication_error")


async def test_anthropics_clients_list_models_in_their_shape(small, autojump_clock):
    """One page; their paging parameters are ignored, `model` filters."""
    headers = [BEARER, ANTHROPIC]
    query = b"limit=1000&after_id=x"
    answer = await request(app_of(small), "GET", "/v1/models", headers=headers, query=query)
    assert answer.json == {
        "data": [
            {
                "type": "model",
                "id": "llm.primary",
                "display_name": "llm.primary",
                "created_at": "2023-11-14T22:13:20Z",
                "lifecycle": "active",
                "max_input_tokens": 100_000,
                "max_tokens": None,
            },
            {
                "type": "model",
                "id": "llm.second",
                "display_name": "llm.second",
                "created_at": "2023-11-14T22:13:20Z",
                "lifecycle": "active",
                "max_input_tokens": 100_000,
                "max_tokens": 512,
            },
        ],
        "has_more": False,
        "first_id": "llm.primary",
        "last_id": "llm.second",
    }
    one = await request(
        app_of(small), "GET", "/v1/models", headers=headers, query=b"model=LLM.second"
    )
    assert one.json["data"] == answer.json["data"][1:]
    assert one.json["first_id"] == one.json["last_id"] == "llm.second"


async def test_one_model_in_both_shapes(small, autojump_clock):
    """`/v1/models/{id}` is that entry of the list, whatever the case of the name."""
    for headers in ([BEARER], [BEARER, ANTHROPIC]):
        whole = await request(app_of(small), "GET", "/v1/models", headers=headers)
        for place, name in enumerate(("LLM.Primary", "llm.second")):
            path = f"/v1/models/{name}"
            one = await request(app_of(small), "GET", path, headers=headers)
            assert one.json == whole.json["data"][place]


async def test_one_model_that_is_not_there(small, autojump_clock):
    """A 404 in the caller's words, and a 400 for any parameter."""
    answer = await request(app_of(small), "GET", "/v1/models/x")
    assert (answer.status, answer.code) == (404, "model_not_found")
    answer = await request(app_of(small), "GET", "/v1/models/x", headers=[BEARER, ANTHROPIC])
    assert answer.json["error"]["type"] == "not_found_error"
    answer = await request(app_of(small), "GET", "/v1/models/llm.second", query=b"y=1")
    assert (answer.status, answer.code) == (400, "invalid_request")


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/messages/count_tokens"])
async def test_a_body_that_says_it_is_too_long_is_not_asked_for(path, small, autojump_clock):
    """Decision 36: a 413 before the first `receive()`, which is what sends `100 Continue`."""
    headers = [BEARER, (b"content-length", b"1025"), (b"expect", b"100-continue")]
    answer = await request(app_of(small), "POST", path, headers=headers, parts=[], side=Side())
    assert answer.status == 413


async def test_a_length_that_is_no_number_is_not_believed(small, autojump_clock):
    """The body itself is counted all the same."""
    headers = [BEARER, (b"content-length", b"many")]
    parts = [b"x" * 1025]
    answer = await request(app_of(small), "POST", CHAT, headers=headers, parts=parts, side=Side())
    assert answer.status == 413
