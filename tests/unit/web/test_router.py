"""The one table of routes."""

import pytest

from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.web.auth import Principal, Scope
from anvil_trio.web.router import ROUTES, Pool, dialect_of, find, methods_of, named_in, path_meant


def test_only_liveness_and_the_root_are_open():
    """Every other route asks for a scope."""
    assert [route.path for route in ROUTES.values() if route.scope is None] == ["/", "/healthz"]


def test_each_route_says_who_may_use_it():
    """The whole table: `inference:use` reaches chat and discovery, and no more."""
    assert {(route.method, route.path): route.scope for route in ROUTES.values()} == {
        ("GET", "/"): None,
        ("GET", "/healthz"): None,
        ("POST", "/v1/chat/completions"): Scope.INFERENCE_USE,
        ("POST", "/v1/messages"): Scope.INFERENCE_USE,
        ("POST", "/v1/messages/count_tokens"): Scope.INFERENCE_USE,
        ("POST", "/v1/responses"): Scope.INFERENCE_USE,
        ("POST", "/v1/responses/input_tokens"): Scope.INFERENCE_USE,
        ("POST", "/v1/embeddings"): Scope.OPERATOR,
        ("POST", "/v1/rerank"): Scope.OPERATOR,
        ("POST", "/v1/audio/transcriptions"): Scope.OPERATOR,
        ("POST", "/v1/audio/translations"): Scope.OPERATOR,
        ("POST", "/v1/audio/speech"): Scope.OPERATOR,
        ("GET", "/v1/realtime"): Scope.INFERENCE_USE,
        ("GET", "/v1/models"): Scope.INFERENCE_USE,
        ("GET", "/v1/models/capacity"): Scope.INFERENCE_USE,
        ("GET", "/v1/models/{model}"): Scope.INFERENCE_USE,
        ("GET", "/v1/models/capabilities"): Scope.INFERENCE_USE,
        ("GET", "/v1/models/fingerprints"): Scope.OPERATOR,
        ("GET", "/v1/router/status"): Scope.OPERATOR,
        ("GET", "/metrics"): Scope.OPERATOR,
        ("GET", "/v1/stats"): Scope.OPERATOR,
        ("GET", "/v1/requests/{id}"): Scope.WORKLOADS_READ,
        ("GET", "/v1/requests"): Scope.WORKLOADS_READ,
        ("GET", "/v1/decisions"): Scope.OPERATOR,
        ("GET", "/v1/health/tiers"): Scope.OPERATOR,
        ("GET", "/v1/workloads"): Scope.WORKLOADS_READ,
        ("GET", "/openapi.json"): Scope.INFERENCE_USE,
        ("GET", "/v1/router/events"): Scope.WORKLOADS_READ,
        ("GET", "/v1/admin/transition"): Scope.OPERATOR,
        ("POST", "/v1/admin/transition"): Scope.OPERATOR,
        ("POST", "/v1/admin/activate"): Scope.OPERATOR,
        ("POST", "/mcp"): Scope.OPERATOR,
        ("POST", "/a2a"): Scope.OPERATOR,
        ("GET", "/.well-known/agent-card.json"): Scope.OPERATOR,
        ("GET", "/artifacts/{id}"): Scope.OPERATOR,
    }


def test_only_the_workloads_are_not_the_operators():
    """Every other route is open to the operator's token; that one only to who was given it."""
    operator = Principal(LEGACY_CLIENT, frozenset({Scope.OPERATOR}))
    closed = [route.path for route in ROUTES.values() if not route.is_open_to(operator)]
    assert closed == ["/v1/workloads"]
    reader = Principal(LEGACY_CLIENT, frozenset({Scope.WORKLOADS_READ}))
    read = [route.path for route in ROUTES.values() if route.scope and route.is_open_to(reader)]
    assert set(read) == {
        "/v1/requests/{id}",
        "/v1/requests",
        "/v1/workloads",
        "/v1/router/events",
    }


def test_only_chat_takes_a_place():
    """No read-only route counts against the front door."""
    assert {route.path for route in ROUTES.values() if route.pool is Pool.CHAT} == {
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/responses",
    }


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/", "/v1/models//"])
def test_trailing_slashes_do_not_matter(path):
    """A path is found with and without trailing slashes."""
    route = find("GET", path)
    assert route is not None
    assert (route.name, route.scope) == ("models", Scope.INFERENCE_USE)


@pytest.mark.parametrize("path", ["/V1/models", "/v1/v1/models", "/v1/model", "/v1", "/v1/route"])
def test_case_and_spelling_matter(path):
    """Any other path is not there."""
    assert find("GET", path) is None
    assert methods_of(path) == ()


def test_the_methods_of_a_path_are_known():
    """A path with another method has an Allow list."""
    assert find("GET", "/v1/chat/completions") is None
    assert methods_of("/v1/chat/completions/") == ("POST",)
    assert methods_of("/v1/models") == ("GET", "HEAD")


def test_head_is_answered_where_get_is():
    """HEAD has no rows of its own."""
    assert find("HEAD", "/v1/models") is find("GET", "/v1/models")
    assert find("HEAD", "/v1/messages") is None


@pytest.mark.parametrize("model", ["llm.primary", "org/model", "a/b/c"])
def test_one_model_has_a_page(model):
    """Whatever its name is, slashes included; pages that have a row of their own come first."""
    route = find("GET", f"/v1/models/{model}")
    assert route is not None
    assert (route.name, named_in(f"/v1/models/{model}/")) == ("model", model)
    capacity = find("GET", "/v1/models/capacity")
    assert capacity is not None
    assert capacity.name == "capacity"


def test_one_request_has_a_page():
    """By whatever id; the page of many is another."""
    route = find("GET", "/v1/requests/req_1/")
    assert route is not None
    assert (route.name, named_in("/v1/requests/req_1/")) == ("request", "req_1")
    many = find("GET", "/v1/requests/")
    assert many is not None
    assert (many.name, named_in("/v1/requests/")) == ("requests", "")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/v1/chat/completions", "/v1/chat/completions"),
        ("/chat/completions", "/v1/chat/completions"),
        ("//v1//messages/", "/v1/messages"),
        ("/v1/v1/models/some-model", "/v1/models/{model}"),
        ("/models", "/v1/models"),
        ("/v1/messages", None),
        ("/v1", None),
        ("/v1/route", None),
        ("/favicon.ico", None),
    ],
)
def test_what_a_path_was_meant_to_be(path, meant):
    """`/v1` twice or not at all and double slashes are seen through; nothing else is guessed."""
    assert path_meant(path) == meant


@pytest.mark.parametrize(
    ("path", "is_anthropic", "dialect"),
    [
        ("/v1/messages", False, "messages"),
        ("/v1/v1/messages", False, "messages"),
        ("/v1/responses", True, "responses"),
        ("/v1/models", True, "messages"),
        ("/v1/models", False, "chat"),
        ("/nowhere", True, "messages"),
        ("/nowhere", False, "chat"),
    ],
)
def test_the_dialect_of_errors(path, is_anthropic, dialect):
    """That of the route which is, or is meant; where it has none, the caller's."""
    assert dialect_of(path, is_anthropic=is_anthropic) == dialect
