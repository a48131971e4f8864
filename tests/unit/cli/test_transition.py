"""What the commands of an operator send, refuse, and make of an answer."""

import json

import click
import httpx
import pytest
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import anvil_serving, main
from anvil_trio.cli.router_client import Question, ask_router
from anvil_trio.cli.transition import Order
from anvil_trio.cli.transition_reply import judge, read_rows, render_row, render_rows

CANARY = "canary-5417"
ENVIRON = {"ANVIL_ROUTER_TOKEN": "token", "ANVIL_SERVING_NO_HOME_ENV": "1"}
ROW: dict[str, JsonValue] = {
    "tier_id": "primary",
    "state": "quiesced",
    "reason": "upgrade",
    "active_requests": 2,
    "draining": False,
}


def asked(action="quiesce", environ=ENVIRON, **more) -> Question:
    """The request that a command line becomes."""
    told = {
        "tier": "primary",
        "member": None,
        "router_url": None,
        "timeout": 5.0,
        "reason": "upgrade",
        "is_confirmed": True,
        **more,
    }
    return Order(action, **told).question(environ)


def said(capsys, *arguments):
    """The status of one command line, and what it wrote on stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["router", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_each_action_is_one_request():
    """A change says both words; a drain its time; a status is a GET."""
    assert asked().body == {
        "action": "quiesce",
        "tier_id": "primary",
        "reason": "upgrade",
        "confirm": True,
        "dry_run": False,
    }
    assert asked("readmit", member="a").body == {
        "action": "readmit",
        "tier_id": "primary",
        "member_id": "a",
        "confirm": True,
        "dry_run": False,
    }
    assert asked("drain").body == {"action": "drain", "tier_id": "primary", "timeout": 5.0}
    status = asked("status", member="a")
    assert (status.body, status.query) == (None, {"tier_id": "primary", "member_id": "a"})
    assert (asked("drain").timeout_s, status.timeout_s) == (15.0, 5.0)


def test_where_the_router_is():
    """The option, else the variable, else this machine's port 8000."""
    assert asked().url == "http://127.0.0.1:8000"
    environ = {**ENVIRON, "ANVIL_ROUTER_URL": "http://10.0.0.1:1"}
    assert asked(environ=environ).url == "http://10.0.0.1:1"
    assert asked(environ=environ, router_url="http://[::1]:2").url == "http://[::1]:2"


@pytest.mark.parametrize("url", [f"http://{CANARY}", "http://8.8.8.8", "http://127.0.0.1/x"])
def test_an_address_of_no_use_is_refused(url):
    """A usage error that does not show it."""
    with pytest.raises(CommandFailed) as caught:
        asked(router_url=url)
    failure = caught.value.failure
    assert (failure.status, failure.code) == (Exit.USAGE, "invalid_router_url")
    assert url not in failure.message


@pytest.mark.parametrize("token", [None, "", "a\nb", "é"])
def test_a_token_is_required(token):
    """It comes from the variable, and could travel in a header."""
    environ = {**ENVIRON, "ANVIL_ROUTER_TOKEN": token}
    if token is None:
        del environ["ANVIL_ROUTER_TOKEN"]
    with pytest.raises(CommandFailed) as caught:
        asked(environ=environ | {"ANVIL_SERVING_HOME": "nowhere"})
    assert caught.value.failure.code == "router_token_required"


@pytest.mark.parametrize("command", ["quiesce", "readmit"])
def test_a_change_is_confirmed(command, capsys):
    """Without --confirm nobody is asked; the status is 3."""
    status, out, err = said(capsys, command, "--tier", CANARY)
    assert (status, out) == (3, "")
    assert err.startswith("confirmation_required: ")
    status, out, err = said(capsys, command, "--tier", CANARY, "--json")
    assert (status, err) == (3, "")
    assert json.loads(out) == {
        "ok": False,
        "command": f"router {command}",
        "context": None,
        "data": None,
        "warnings": [],
        "error": {
            "class": "safety",
            "code": "confirmation_required",
            "message": "This changes what the router takes; add --confirm.",
            "details": {},
        },
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["quiesce"],
        ["drain", "--tier", "a", "--timeout", "0"],
        ["drain", "--tier", "a", "--timeout", "3601"],
        ["drain", "--tier", "a", "--timeout", CANARY],
        ["drain", "--tier", "a", "--timeout", "nan"],
        ["drain", "--tier", "canary\udcff"],
        ["quiesce", "--tier", "a", "--confirm", "--reason", "canary\udcff"],
        ["transition-status", "--member", "canary\udcff"],
        ["status"],
        ["readmit", "--tier", "a", CANARY],
    ],
    ids=str,
)
def test_a_command_line_that_is_not_valid(arguments, capsys):
    """Status 2, in fixed words."""
    status, out, err = said(capsys, *arguments)
    assert (status, out) == (2, "")
    assert CANARY not in err


def test_all_four_take_the_same_options():
    """A script may put them one in the place of another."""
    group = anvil_serving.commands["router"]
    assert isinstance(group, click.Group)
    commands = [
        group.commands[name] for name in ("quiesce", "drain", "readmit", "transition-status")
    ]
    names = {tuple(option.name for option in command.params) for command in commands}
    assert len(names) == 1


@pytest.mark.parametrize(
    ("action", "reply", "code"),
    [
        ("quiesce", {"result": ROW}, None),
        ("drain", {"result": {"drained": True, "snapshot": ROW}}, None),
        ("drain", {"result": {"drained": False, "snapshot": ROW}}, "not_drained"),
        ("readmit", {"result": {"readmitted": True, "status": {"tiers": [ROW]}}}, None),
        (
            "readmit",
            {"result": {"readmitted": False, "status": {"tiers": [ROW]}}},
            "not_readmitted",
        ),
        ("status", {"tiers": [{**ROW, "ready": True}]}, None),
        (
            "status",
            {"tiers": [{**ROW, "ready": True}, {**ROW, "tier_id": "b", "ready": False}]},
            "not_ready",
        ),
    ],
    ids=str,
)
def test_what_is_no_success_is_status_1(action, reply, code):
    """Not drained, not readmitted, a row that is not ready."""
    rows = read_rows(action, reply, None)
    failure = judge(action, reply, rows)
    assert (failure.code if failure else None) == code
    assert failure is None or failure.status is Exit.EXECUTION
    assert rows[0].tier_id == "primary"


@pytest.mark.parametrize("action", ["quiesce", "drain", "readmit", "status"])
def test_an_answer_that_is_none_is_refused(action):
    """A router that answers otherwise is no router of ours."""
    replies: list[dict[str, JsonValue]] = [
        {},
        {"result": {}},
        {"tiers": [{}]},
        {"tiers": 1, "result": 1},
    ]
    for reply in replies:
        with pytest.raises(CommandFailed) as caught:
            read_rows(action, reply, None)
        assert caught.value.failure.code == "router_response_invalid"


@pytest.mark.parametrize(
    ("action", "reply"),
    [
        ("quiesce", {"result": ROW}),
        ("drain", {"result": {"drained": True, "snapshot": ROW}}),
        ("readmit", {"result": {"readmitted": True, "status": {"tiers": [ROW]}}}),
        ("readmit", {"result": {"readmitted": True, "status": {"tiers": []}}}),
        ("status", {"tiers": [ROW]}),
    ],
)
def test_an_answer_about_another_tier_is_none(action, reply):
    """A router that drained something else has drained nothing of what was asked."""
    with pytest.raises(CommandFailed) as caught:
        read_rows(action, reply, "other")
    assert caught.value.failure.code == "router_response_invalid"


def test_a_tier_that_is_there_twice_is_no_answer():
    """Which of the two is meant nobody knows."""
    with pytest.raises(CommandFailed) as caught:
        read_rows("status", {"tiers": [ROW, ROW]}, None)
    assert caught.value.failure.code == "router_response_invalid"


def test_rows_that_nest_without_end_are_no_answer():
    """What a router says cannot make the command fail."""
    row: dict[str, JsonValue] = {**ROW}
    for _ in range(5000):
        row = {**ROW, "members": [row]}
    with pytest.raises(CommandFailed) as caught:
        read_rows("status", {"tiers": [row]}, None)
    assert caught.value.failure.code == "router_response_invalid"


def test_what_could_not_be_read_is_not_shown(capsys, monkeypatch):
    """R012: what a server says that is no router of ours is not told, also not as JSON."""

    async def answer(_):
        return {"tiers": [{"tier_id": CANARY}], "more": CANARY}

    monkeypatch.setattr("anvil_trio.cli.transition.ask_router", answer)
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "token")
    for words in (["transition-status"], ["quiesce", "--tier", "a", "--confirm"]):
        status, out, err = said(capsys, *words, "--json")
        assert (status, err) == (4, "")
        assert json.loads(out)["data"] is None
        assert CANARY not in out


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "primary: quiesced (upgrade), 2 running"),
        (
            {"member_id": "a", "draining": True},
            "primary/a: quiesced (upgrade), 2 running, draining",
        ),
        (
            {"state": "admitting", "reason": None, "ready": True},
            "primary: admitting, 2 running, ready",
        ),
        (
            {"ready": False, "readiness_reason": "health_transport", "active_requests": None},
            "primary: quiesced (upgrade), not ready (health_transport)",
        ),
        ({"state": None, "reason": None, "active_requests": None}, "primary: unknown"),
        ({"tier_id": "a\x1b[2J"}, "?"),
    ],
    ids=str,
)
def test_a_row_is_a_line(change, line):
    """And never steers the terminal it is shown on."""
    [row] = read_rows("status", {"tiers": [{**ROW, **change}]}, None)
    assert render_row(row) == line


def test_a_quiesced_member_is_seen_in_the_status_of_its_tier():
    """Each member has its line below the tier's."""
    member: dict[str, JsonValue] = {**ROW, "member_id": "a"}
    other: dict[str, JsonValue] = {**member, "member_id": "b", "state": "admitting", "reason": None}
    tier: dict[str, JsonValue] = {**ROW, "state": "admitting", "reason": None, "ready": True}
    reply: dict[str, JsonValue] = {"tiers": [{**tier, "members": [member, other]}]}
    rows = read_rows("status", reply, None)
    assert render_rows(rows) == [
        "primary: admitting, 2 running, ready",
        "primary/a: quiesced (upgrade), 2 running",
        "primary/b: admitting, 2 running",
    ]
    assert judge("status", reply, rows) is None


def test_every_order_says_where_its_token_is():
    """In its own help, by the name of the variable."""
    group = anvil_serving.commands["router"]
    assert isinstance(group, click.Group)
    for name in ("quiesce", "drain", "readmit", "transition-status", "install-config"):
        assert "ANVIL_ROUTER_TOKEN" in (group.commands[name].help or "")


def test_a_success_in_json():
    """The router's answer is the data."""
    assert json.loads(render_envelope("router drain", {"applied": True})) == {
        "ok": True,
        "command": "router drain",
        "context": None,
        "data": {"applied": True},
        "warnings": [],
        "error": None,
    }


def test_a_failure_is_told_by_its_class():
    """The class is the name of the exit status."""
    failure = Failure(Exit.TRANSPORT, "router_unreachable", "x")
    assert json.loads(render_envelope("c", None, failure))["error"]["class"] == "transport"
    assert str(CommandFailed(failure)) == "router_unreachable"


async def test_nobody_at_the_address_is_a_transport_failure():
    """R012: the address is not shown."""
    with pytest.raises(CommandFailed) as caught:
        await ask_router(asked("status", router_url="http://127.0.0.1:9"))
    assert caught.value.failure == Failure(
        Exit.TRANSPORT,
        "router_unreachable",
        "The router did not answer. Does it run at the address of --router-url?",
    )
    assert caught.value.__suppress_context__
    assert not isinstance(caught.value, httpx.HTTPError)
