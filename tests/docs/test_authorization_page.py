"""docs/authorization.md: its policy loads, and its tables say what the router does."""

import re
from itertools import product

from anvil_trio.config.policy import ClientScope, parse_policy
from anvil_trio.config.problems import ConfigError
from anvil_trio.errors import Code, problem
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.web.auth import Principal, Scope
from anvil_trio.web.router import ROUTES
from tests.docs.test_configuration_examples import COMPLETE
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "authorization.md").read_text(encoding="utf-8")
COLUMNS = (Scope.INFERENCE_USE, Scope.WORKLOADS_READ, Scope.OPERATOR)
FLAT = " ".join(PAGE.split())


def block(mark: str) -> str:
    """The code block below a marker comment."""
    (found,) = re.findall(rf"<!-- {mark} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_policy_of_the_page_loads() -> None:
    """Two clients, one credential of each kind, every scope in use."""
    clients = parse_policy(block("policy").encode())
    assert [client.client_id for client in clients] == ["desktop", "automation"]
    assert [client.credential_env is None for client in clients] == [True, False]
    assert {scope for client in clients for scope in client.scopes} == set(ClientScope)


def test_the_settings_of_the_page_are_those_of_the_configuration_page() -> None:
    """The excerpt is part of a complete example there, with limits on these clients only."""
    assert any(text.startswith(block("server")) for text in COMPLETE)
    ids = {client.client_id for client in parse_policy(block("policy").encode())}
    limits = re.search(r"client_limits = \{ (.*) \}", block("server"))
    assert limits is not None
    assert set(re.findall(r"(\w+) =", limits[1])) == ids | {LEGACY_CLIENT}


def test_the_table_of_scopes_is_the_route_table() -> None:
    """Every route has a row, and yes and no are what the application decides."""
    rows = re.findall(r"^\| `(\w+) (/[^`]*)` \| (\w+) \| (\w+) \| (\w+) \|$", PAGE, re.MULTILINE)
    assert {(method, path) for method, path, *_ in rows} == set(ROUTES)
    for (method, path, *cells), at in product(rows, range(3)):
        route = ROUTES[method, path]
        who = Principal(LEGACY_CLIENT, frozenset({COLUMNS[at]}))
        expected = "open" if route.scope is None else ("yes" if route.is_open_to(who) else "no")
        assert cells[at] == expected, (path, COLUMNS[at])


def test_the_keys_and_bounds_of_the_page_are_the_parsers() -> None:
    """The keys named are exactly those that an empty policy and client are told to have."""
    told = []
    for data in (b'{"x": 1}', b'{"schema_version": 1, "clients": [{"x": 1}]}'):
        try:
            parse_policy(data)
        except ConfigError as error:
            told += re.findall(r"must have no key but (.*)", str(error))
    keys = ", ".join(told).split(", ")
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == keys


def test_the_answers_of_the_page_are_those_of_the_error_table() -> None:
    """Status, code, words and Retry-After of the refusals that the page promises."""
    budget = problem(Code.CLIENT_CONCURRENCY_EXHAUSTED)
    assert f"HTTP/1.1 {budget.status}\nRetry-After: {budget.retry_after_s}\n" in PAGE
    assert f'"message":"{budget.message}"' in PAGE
    assert f'"code":"{budget.code}"' in PAGE
    for code in (Code.SCOPE_DENIED, Code.SERVER_BUSY):
        assert f"{problem(code).status} `{code}`" in FLAT
