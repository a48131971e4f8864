"""`GET /v1/requests`, and `/v1/workloads`: running and ended requests."""

from dataclasses import replace
from hashlib import sha256

import msgspec
import pytest

from anvil_trio.facts import ActiveRequest, Phase
from anvil_trio.names import ClientId, RequestId
from anvil_trio.views.requests import project_active, project_history, project_request
from anvil_trio.views.workloads import WorkloadsQuery, project_workloads
from tests.unit.decisions.samples import record
from tests.unit.views.samples import read

RUNNING = ActiveRequest(
    gateway_request_id=RequestId("req_1"),
    phase=Phase.STREAMING,
    created_unix=1000.12345,
    session_id="s-1",
    client_id=ClientId("desktop"),
    route="llm.primary",
    elapsed_ms=2000,
    last_activity_ms=50,
    admission_wait_ms=10,
    estimated_input_tokens=7,
    input_tokens=None,
    output_tokens=None,
    cache_read_input_tokens=None,
    context_limit_tokens=8192,
)
QUEUED = replace(
    RUNNING,
    gateway_request_id=RequestId("req_2"),
    phase=Phase.QUEUED,
    created_unix=1001.0,
    session_id=None,
    client_id=None,
)


def active(*running, session_id=None, limit=10):
    """The page of these."""
    return read(project_active(running, session_id=session_id, limit=limit))


def test_a_running_request_has_exactly_its_documented_keys():
    """Sixteen facts, none of which is content."""
    [shown] = active(RUNNING)["records"]
    assert shown == {
        "gateway_request_id": "req_1",
        "state": "running",
        "phase": "streaming",
        "created_at": 1000.123,
        "session_id": "s-1",
        "client_id": "desktop",
        "route": "llm.primary",
        "elapsed_ms": 2000,
        "last_activity_ms": 50,
        "admission_wait_ms": 10,
        "estimated_input_tokens": 7,
        "input_tokens": None,
        "output_tokens": None,
        "cache_read_input_tokens": None,
        "context_limit_tokens": 8192,
    }


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        (Phase.CHECKING, "queued"),
        (Phase.QUEUED, "queued"),
        (Phase.ADMITTED, "running"),
        (Phase.DISPATCHED, "running"),
        (Phase.STREAMING, "running"),
    ],
)
def test_a_request_runs_from_its_admission(phase, state):
    """Before it has a place it is queued."""
    assert active(replace(RUNNING, phase=phase))["records"][0]["state"] == state


def test_the_newest_come_first_and_the_rest_is_said_to_be_there():
    """A page that does not hold all says so."""
    page = active(RUNNING, QUEUED, limit=1)
    assert [one["gateway_request_id"] for one in page["records"]] == ["req_2"]
    assert (page["truncated"], page["scope"]) == (True, "active_workload_buffer")
    assert active(RUNNING, QUEUED, limit=2)["truncated"] is False


def test_one_session_can_be_asked_for():
    """What has no session belongs to none."""
    page = active(RUNNING, QUEUED, session_id="s-1")
    assert [one["gateway_request_id"] for one in page["records"]] == ["req_1"]
    assert page["session_id"] == "s-1"
    assert active(RUNNING, session_id="s-2")["records"] == []


def test_a_session_that_looks_like_a_key_is_not_shown():
    """R012: in a record and in the page's own words."""
    key = "sk-kanarie-0123456789"
    assert key not in str(active(replace(RUNNING, session_id=key), session_id=key))
    page = project_history(
        key,
        [msgspec.structs.replace(record(), session_id=key)],
        limit=1,
        scope="decision_log_jsonl",
        may_be_more=False,
        is_available=True,
    )
    assert key not in str(read(page))


@pytest.mark.parametrize(
    ("count", "may_be_more", "is_truncated"),
    [(2, False, False), (3, False, True), (2, True, True)],
)
def test_a_history_says_whether_it_is_whole(count, may_be_more, is_truncated):
    """It is not where records were left out, or a file was not read to its beginning."""
    page = read(
        project_history(
            "s-1",
            [record()] * count,
            limit=2,
            scope="current_decision_log_buffer",
            may_be_more=may_be_more,
            is_available=True,
        )
    )
    assert len(page["records"]) == 2
    assert page["truncated"] is is_truncated
    assert (page["object"], page["session_id"], page["available"]) == (
        "router_request_history",
        "s-1",
        True,
    )


def test_one_request_says_where_it_was_found():
    """The page is the record and its place."""
    page = read(project_request(record(), "decision_log_jsonl"))
    assert set(page) == {"object", "scope", "record"}
    assert (page["object"], page["scope"]) == ("router_request", "decision_log_jsonl")


ENDED = [
    msgspec.structs.replace(record(f"req_{age}"), unix_ts=1010.0 - age, workload_updated_at=1.5)
    for age in (1, 5, 9)
]


def workloads(**asked):
    """The page of this host at 1010 seconds."""
    query = WorkloadsQuery(**asked)
    return read(project_workloads("node-1", [RUNNING, QUEUED], ENDED, query, now_unix=1010.0))


def ids(page):
    """Which requests a page shows, by the form of its digests."""
    names = {
        sha256(name.encode()).hexdigest(): name for name in ("req_1", "req_2", "req_5", "req_9")
    }
    return [names[one["id"]] for source in page["sources"] for one in source["records"]]


def test_a_node_shows_what_runs_and_then_what_ended():
    """Each newest first, under digests of their ids."""
    page = workloads()
    assert ids(page) == ["req_2", "req_1", "req_1", "req_5", "req_9"]
    assert {key: value for key, value in page.items() if key != "sources"} == {
        "schema": "anvil-workloads/v1",
        "host": "node-1",
        "status": "ok",
        "collection_timestamp": 1010.0,
    }
    assert page["sources"][0]["owner"] == "router"
    _, running, ended, *_ = page["sources"][0]["records"]
    assert running == {
        "id": sha256(b"req_1").hexdigest(),
        "kind": "router-request",
        "state": "running",
        "phase": "streaming",
        "outcome": None,
        "created_at": 1000.123,
        "updated_at": 1009.95,
    }
    assert ended == {
        "id": sha256(b"req_1").hexdigest(),
        "kind": "router-request",
        "state": "ended",
        "phase": None,
        "outcome": "success",
        "created_at": 1000.0,
        "updated_at": 1.5,
    }


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"state": "queued"}, ["req_2"]),
        ({"state": "running"}, ["req_1"]),
        ({"state": "ended"}, ["req_1", "req_5", "req_9"]),
        ({"is_active_only": True}, ["req_2", "req_1"]),
        ({"is_active_only": True, "state": "ended"}, []),
        ({"recent_s": 5}, ["req_2", "req_1", "req_1", "req_5"]),
        ({"limit": 3}, ["req_2", "req_1", "req_1"]),
        ({"kind": "router-request", "owner": "router", "host": "node-1", "limit": 1}, ["req_2"]),
        ({"kind": "training"}, []),
    ],
)
def test_a_node_can_be_asked_for_less(asked, found):
    """Every parameter narrows what is shown."""
    assert ids(workloads(**asked)) == found


@pytest.mark.parametrize("asked", [{"owner": "somebody"}, {"host": "node-2"}])
def test_another_owner_or_host_has_nothing_here(asked):
    """This node speaks for itself alone."""
    assert workloads(**asked)["sources"] == []
