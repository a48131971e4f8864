"""`router diagnose` and `router status` as commands: what they ask, exit with and print."""

import json
from typing import Any

import pytest

from anvil_trio.cli import diagnose, status
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import main
from anvil_trio.cli.router_client import ACCESS_DENIED
from tests.unit.cli.pages import (
    ACTIVE,
    GATEWAY_ID,
    RECORD,
    SHA,
    STATUS,
    active_page,
    history_page,
    request_page,
)

CANARY = "canary-5417"
STATUS_PATH = "/v1/router/status"


@pytest.fixture
def router(monkeypatch, tmp_path):
    """The pages by path and query, an exception in place of one, and what was asked."""
    pages: dict[str, Any] = {}
    asked: list[str] = []

    async def ask(question):
        query = "&".join(f"{name}={value}" for name, value in question.query.items())
        place = f"{question.path}?{query}" if query else question.path
        asked.append(place)
        assert (question.body, question.token) == (None, "token")
        page = pages.get(place, question.refusals.get("not_found"))
        if page is None or isinstance(page, Failure):
            raise CommandFailed(page or Failure(Exit.TRANSPORT, "router_http_error", "no"))
        return page

    monkeypatch.setattr(diagnose, "ask_router", ask)
    monkeypatch.setattr(status, "ask_router", ask)
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(tmp_path))
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    pages[STATUS_PATH] = STATUS
    pages["asked"] = asked
    return pages


def said(capsys, *arguments):
    """The status of one command line, and what it wrote."""
    with pytest.raises(SystemExit) as ended:
        main(["router", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_one_request(router, capsys):
    """Its page, then the status; the answer in one object."""
    router[f"/v1/requests/{GATEWAY_ID}"] = request_page()
    code, out, err = said(capsys, "diagnose", "--request-id", GATEWAY_ID, "--json")
    assert (code, err) == (0, "")
    envelope = json.loads(out)
    assert (envelope["ok"], envelope["command"], envelope["error"]) == (
        True,
        "router diagnose",
        None,
    )
    assert envelope["data"]["request"]["outcome"] == "success"
    assert envelope["data"]["current_router"]["status"] == "available"
    assert router["asked"] == [f"/v1/requests/{GATEWAY_ID}", STATUS_PATH]
    code, out, err = said(capsys, "diagnose", "--request-id", GATEWAY_ID)
    assert (code, err) == (0, "")
    assert "The request was served whole." in out
    assert SHA in out


def test_a_reader_of_workloads_does_without_the_status(router, capsys):
    """A 403 there is said and no failure; anything else is one."""
    router[f"/v1/requests/{GATEWAY_ID}"] = request_page()
    router[STATUS_PATH] = ACCESS_DENIED
    code, out, _ = said(capsys, "diagnose", "--request-id", GATEWAY_ID, "--json")
    assert code == 0
    assert json.loads(out)["data"]["current_router"] == {"status": "unavailable", "metadata": None}
    router[STATUS_PATH] = {}
    assert said(capsys, "diagnose", "--request-id", GATEWAY_ID)[::2] == (
        4,
        "router_response_invalid: The router's answer could not be read.\n",
    )


def test_a_request_that_is_not_recorded(router, capsys):
    """Status 1, and the status page is not asked for."""
    code, out, err = said(capsys, "diagnose", "--request-id", CANARY, "--json")
    assert (code, err) == (1, "")
    error = json.loads(out)["error"]
    assert (error["class"], error["code"]) == ("execution", "request_not_found")
    assert CANARY not in out
    assert router["asked"] == [f"/v1/requests/{CANARY}"]


def test_a_session_and_what_runs(router, capsys):
    """One page each, within their bounds."""
    session = "/v1/requests?session_id=session-1&history=1&limit=50"
    router[session] = history_page(RECORD)
    code, out, _ = said(capsys, "diagnose", "--session-id", "session-1", "--json")
    assert (code, json.loads(out)["data"]["session_id"]) == (0, "session-1")
    router["/v1/requests?active=1&limit=200"] = active_page(ACTIVE)
    code, out, _ = said(capsys, "diagnose", "--active", "--json")
    assert (code, json.loads(out)["data"]["active"]) == (0, True)
    assert len(router["asked"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--request-id", f"{CANARY}/.."], "invalid_request_id"),
        (["--request-id", ""], "invalid_request_id"),
        (["--session-id", f"{CANARY} "], "invalid_session_id"),
        (["--active", "--router-url", f"http://{CANARY}"], "invalid_router_url"),
        (["--active", "--auth-env", CANARY], "router_credential_required"),
        (["--active", "--config", CANARY], "router_diagnostics_config_invalid"),
    ],
)
def test_what_is_not_valid_is_status_2(arguments, code, router, capsys):
    """In fixed words, and nobody is asked (R012)."""
    status_code, out, err = said(capsys, "diagnose", *arguments)
    assert (status_code, out, err.split(":")[0]) == (2, "", code)
    assert CANARY not in err
    status_code, out, err = said(capsys, "diagnose", *arguments, "--json")
    assert (status_code, err, json.loads(out)["error"]["class"]) == (2, "", "usage")
    assert CANARY not in out
    assert router["asked"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--active", "--session-id", "a"],
        ["--request-id", "a", "--session-id", "b"],
        ["--active", "--timeout", "30.1"],
        ["--active", "--timeout", "0"],
        ["--active", CANARY],
    ],
    ids=str,
)
def test_a_command_line_that_is_none(arguments, router, capsys):
    """One subject, at most 30 seconds."""
    status_code, out, err = said(capsys, "diagnose", *arguments)
    assert (status_code, out) == (2, "")
    assert CANARY not in err
    assert router["asked"] == []


def test_a_router_that_does_not_answer_so(router, capsys):
    """Any other refusal is a transport failure."""
    assert said(capsys, "diagnose", "--active")[0] == 4


def test_the_status(router, capsys):
    """Its keys in JSON, its tiers in a table; what would steer a terminal is a question mark."""
    router[STATUS_PATH] = {**STATUS, "secret": CANARY}
    code, out, _ = said(capsys, "status", "--json")
    data = json.loads(out)["data"]
    assert (code, data) == (0, {key: value for key, value in STATUS.items() if key != "object"})
    router[STATUS_PATH] = {**STATUS, "package_version": "\x1b[2J"}
    code, out, _ = said(capsys, "status")
    assert code == 0
    assert SHA in out
    for words in ("primary", "admitting", "60 s", "1 of 1 enabled", "llm.primary", "?"):
        assert words in out
    assert "\x1b" not in out
