"""A native promotion for real: demo engines, a router, and commands that are killed."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.wire.lifecycle.stage import TOKEN, Stage, open_stage

pytestmark = [pytest.mark.wire, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """One machine for all tests; each leaves the old engine in place."""
    with open_stage(tmp_path_factory.mktemp("home")) as found:
        yield found


@contextmanager
def begun_stream(stage: Stage, tokens: int = 12) -> Iterator[http.client.HTTPResponse]:
    """A stream through the router that has begun; 2 tokens take a second."""
    connection = http.client.HTTPConnection(stage.url.rpartition("/")[2], timeout=60)
    body = {
        "model": "chat",
        "stream": True,
        "max_tokens": tokens,
        "messages": [{"role": "user", "content": "hi"}],
    }
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    with closing(connection):
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        with connection.getresponse() as reply:
            assert reply.status == 200
            reply.readline()
            yield reply


def test_a_promotion_moves_from_port_to_port_and_back(stage):
    """Process up, healthy, drained, route moved, old process gone; a stream goes on meanwhile."""
    stage.write()
    with begun_stream(stage) as reply:
        status, answer = stage.promote("--confirm")
        assert reply.read().endswith(b"data: [DONE]\n\n")
    assert (status, answer["ok"]) == (0, True), answer
    stage.assert_whole("new")
    status, answer = stage.promote("--rollback", "--confirm")
    assert (status, answer["ok"]) == (0, True), answer
    stage.assert_whole("old")
    kinds = [
        json.loads(line)["kind"] for line in (stage.home / "events.jsonl").read_text().splitlines()
    ]
    assert kinds[-2:] == ["promote.applied", "promote.rolled_back"]


def test_a_serve_that_is_never_healthy_is_stopped_again(stage):
    """Nothing else was touched: the tier was never closed."""
    stage.write(health="/none", startup=1.5)
    status, answer = stage.promote("--confirm")
    assert status == 1
    assert answer["error"]["code"] == "serve_not_healthy"
    assert stage.journals()[-1]["path"] == "leave"
    stage.assert_whole("old")


def test_a_change_that_needs_a_restart_is_undone(stage):
    """The router refuses it in its own words, which are told, and all is as it was."""
    path = stage.home / "new.toml"
    kept = path.read_text()
    path.write_text(kept.replace("[server]\n", "[server]\nidle_timeout_s = 7\n"))
    stage.write()
    status, answer = stage.promote("--confirm")
    path.write_text(kept)
    assert status == 1
    assert answer["error"]["code"] == "activation_requires_restart"
    assert stage.journals()[-1]["error"] == "activation_requires_restart"
    stage.assert_whole("old")


def test_a_tier_that_does_not_drain_in_time_is_opened_again(stage):
    """The stream that was in the way goes on."""
    stage.write(drain=0.3)
    with begun_stream(stage, tokens=200) as reply:
        status, answer = stage.promote("--confirm")
        row = stage.tier()
        assert (row["state"], row["active_requests"]) == ("admitting", 1)
        assert [
            line for line in (reply.readline(), reply.readline()) if line.startswith(b"data: {")
        ]
    assert status == 1
    assert answer["error"]["code"] == "not_drained"
    assert stage.journals()[-1]["path"] == "reopen"
    stage.assert_whole("old")


@pytest.mark.parametrize(
    ("step", "when", "way"),
    [
        ("start", "before", "--resume"),
        ("start", "after", "--rollback"),
        ("gate", "before", "--rollback"),
        ("quiesce", "after", "--rollback"),
        ("drain", "before", "--rollback"),
        ("route", "before", "--resume"),
        ("route", "after", "--rollback"),
        ("readmit", "before", "--rollback"),
        ("readmit", "after", "--rollback"),
        ("stop", "before", "--resume"),
        ("stop", "after", "--rollback"),
    ],
)
def test_a_killed_command_is_taken_up(stage, step, when, way):
    """After kill -9 in each journal state: one process, one route, and no lost journal."""
    stage.write()
    before = len(stage.journals())
    stage.killed_at(step, when)
    assert stage.journals()[-1]["step"] == step
    assert stage.journals()[-1]["status"] == "running"
    if step == "drain":
        status, answer = stage.promote("--confirm")
        assert (status, answer["error"]["code"]) == (1, "operation_unfinished")
    status, answer = stage.promote(way, "--confirm")
    assert (status, answer["ok"]) == (0, True), answer
    stage.assert_whole("new" if way == "--resume" else "old")
    assert len(stage.journals()) == before + 1
    if way == "--resume":
        assert stage.promote("--rollback", "--confirm")[0] == 0
        stage.assert_whole("old")
