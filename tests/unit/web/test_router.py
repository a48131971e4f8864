"""The one table of routes."""

import pytest

from anvil_trio.web.auth import Scope
from anvil_trio.web.router import ROUTES, Pool, find, methods_of


def test_only_liveness_is_open():
    """Every route but `/healthz` asks for a scope."""
    assert [route.path for route in ROUTES.values() if route.scope is None] == ["/healthz"]


def test_each_route_says_who_may_use_it():
    """The whole table: `inference:use` reaches chat and discovery, and no more."""
    assert {(route.method, route.path): route.scope for route in ROUTES.values()} == {
        ("GET", "/healthz"): None,
        ("POST", "/v1/chat/completions"): Scope.INFERENCE_USE,
        ("POST", "/v1/messages"): Scope.INFERENCE_USE,
        ("POST", "/v1/messages/count_tokens"): Scope.INFERENCE_USE,
        ("POST", "/v1/responses"): Scope.INFERENCE_USE,
        ("POST", "/v1/responses/input_tokens"): Scope.INFERENCE_USE,
        ("GET", "/v1/models"): Scope.INFERENCE_USE,
        ("GET", "/v1/models/capacity"): Scope.INFERENCE_USE,
        ("GET", "/v1/router/status"): Scope.OPERATOR,
        ("GET", "/v1/admin/transition"): Scope.OPERATOR,
        ("POST", "/v1/admin/transition"): Scope.OPERATOR,
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


@pytest.mark.parametrize("path", ["/", "", "/V1/models", "/v1/v1/models", "/v1/model"])
def test_case_and_spelling_matter(path):
    """Any other path is not there."""
    assert find("GET", path) is None
    assert methods_of(path) == ()


def test_the_methods_of_a_path_are_known():
    """A path with another method has an Allow list."""
    assert find("GET", "/v1/chat/completions") is None
    assert methods_of("/v1/chat/completions/") == ("POST",)
