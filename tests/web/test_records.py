"""The pages about requests, over the whole application."""

from contextlib import asynccontextmanager

import msgspec
import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN, request
from tests.support.chunks import good_reply, good_stream
from tests.support.small_house import SmallHouse, config_of, open_small_house, replica_tier
from tests.unit.decisions.samples import record

UNKNOWN = "req_" + "f" * 32


@asynccontextmanager
async def opened(path=None, workload_host=None):
    """A house, with a decision log at `path`, and a way to ask for its pages."""
    config = config_of(replica_tier(), server=ServerSettings(workload_host=workload_host))
    async with open_small_house(config) as small:
        for name in ("a", "b"):
            small.engine(name).chat_default = good_reply()
        if path is None:
            yield small
            return
        with Journal(str(path)) as journal:
            small.house.log = DecisionLog(small.ring, journal, small.house.bus)
            yield small


async def page(small: SmallHouse, path: str, query: str = "", token: str | None = TOKEN):
    """One page."""
    app = App(small.house, lambda: small.generation, Authenticator(token))
    answer = await request(app, "GET", path, query=query.encode())
    assert answer.headers[b"cache-control"] == b"no-store"
    return answer


async def test_one_request_is_found_by_either_id():
    """The router's own id, which every reply carries, or else the caller's."""
    async with opened() as small:
        await small.chat(session="s-1")
        [kept] = small.records
        answer = await page(small, f"/v1/requests/{kept.gateway_request_id}")
        assert (answer.status, answer.json["scope"]) == (200, "current_decision_log_buffer")
        shown = answer.json["record"]
        assert (shown["gateway_request_id"], shown["session_id"]) == (
            kept.gateway_request_id,
            "s-1",
        )


@pytest.mark.parametrize("name", [UNKNOWN, "call-9", "a%20b", "-", "x" * 200, "a/b"])
async def test_a_request_that_nobody_knows_is_a_404(name):
    """An id that is none, too; nothing of it is repeated."""
    async with opened() as small:
        answer = await page(small, f"/v1/requests/{name}")
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.json["error"]["message"] == "No request of this id is known."


async def test_a_request_of_an_earlier_process_is_found_in_the_file(tmp_path):
    """Memory first, then the decision log."""
    path = tmp_path / "decisions.jsonl"
    async with opened(path) as small:
        await small.chat()
        [kept] = small.records
    async with opened(path) as small:
        answer = await page(small, f"/v1/requests/{kept.gateway_request_id}")
        assert (answer.status, answer.json["scope"]) == (200, "decision_log_jsonl")
        assert answer.json["record"]["gateway_request_id"] == kept.gateway_request_id
        assert (await page(small, f"/v1/requests/{UNKNOWN}")).status == 404


async def test_a_file_that_cannot_be_read_hides_no_record_in_memory(tmp_path):
    """503 only where memory does not know: a request is not said to be unknown without looking."""
    path = tmp_path / "decisions.jsonl"
    async with opened(path) as small:
        await small.chat(session="s-1")
        [kept] = small.records
        path.unlink()
        assert (await page(small, f"/v1/requests/{kept.gateway_request_id}")).status == 200
        answer = await page(small, f"/v1/requests/{UNKNOWN}")
        assert (answer.status, answer.code) == (503, "history_unavailable")
        assert answer.headers[b"retry-after"] == b"1"
        kept = await page(small, "/v1/requests", "session_id=s-1&history=1")
        assert (kept.status, kept.json["available"], len(kept.json["records"])) == (200, False, 1)
        answer = await page(small, "/v1/requests", "session_id=s-2&history=1")
        assert (answer.status, answer.code) == (503, "history_unavailable")


async def test_a_history_needs_no_file():
    """Records in memory are searched as well; without a file they are all there is."""
    async with opened() as small:
        for session in ("s-1", "s-2", "s-1", None):
            await small.chat(session=session)
        found = (await page(small, "/v1/requests", "session_id=s-1&history=1")).json
        assert found["scope"] == "current_decision_log_buffer"
        assert [one["gateway_request_id"][-1] for one in found["records"]] == ["2", "0"]
        assert (found["truncated"], found["available"]) == (False, True)
        one = (await page(small, "/v1/requests", "session_id=s-1&history=1&limit=1")).json
        assert ([r["gateway_request_id"][-1] for r in one["records"]], one["truncated"]) == (
            ["2"],
            True,
        )


async def test_a_history_joins_memory_and_file(tmp_path):
    """Each request once, the newest first, those of an earlier process too."""
    path = tmp_path / "decisions.jsonl"
    async with opened(path) as small:
        for session in ("s-1", "s-2"):
            await small.chat(session=session)
    async with opened(path) as small:
        small.ring.append(small_record("9"))
        small.begun = 5
        await small.chat(session="s-1")
        found = (await page(small, "/v1/requests", "session_id=s-1&history=1")).json
        assert found["scope"] == "decision_log_jsonl"
        ids = [one["gateway_request_id"][-1] for one in found["records"]]
        assert ids == ["5", "9", "0"]


def small_record(number):
    """A record of s-1 that is in memory alone."""
    return msgspec.structs.replace(record("req_" + "0" * 31 + number), session_id="s-1")


async def test_every_refusal_is_put_in_the_callers_dialect(tmp_path):
    """A caller of Anthropic's kind reads a page's refusal as its client expects it."""
    path = tmp_path / "decisions.jsonl"
    async with opened(path) as small:
        path.unlink()
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        answer = await request(
            app,
            "GET",
            f"/v1/requests/{UNKNOWN}",
            headers=[BEARER, (b"anthropic-version", b"2023-06-01")],
        )
        assert answer.status == 503
        assert answer.json["error"]["type"] == "api_error"


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("", None),
        ("session_id=s-1", None),
        ("history=0&active=0", None),
        ("history=1&active=1", None),
        ("history=1", "session_id"),
        ("history=1&session_id=s-1&limit=51", "limit"),
        ("history=1&session_id=s-1&limit=0", "limit"),
        ("active=1&limit=201", "limit"),
        ("history=1&session_id=a%20b", "session_id"),
        ("history=2&session_id=s-1", "history"),
        ("history=1&session_id=s-1&session_id=s-1", "session_id"),
        ("history=1&session_id=s-1&x=1", None),
    ],
)
async def test_requests_are_asked_for_in_one_way(query, param):
    """What is malformed, missing, repeated or contradictory is a 400."""
    async with opened() as small:
        answer = await page(small, "/v1/requests", query)
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert answer.json["error"]["param"] == param


async def test_running_requests_are_seen_while_they_run(autojump_clock):
    """The page of active requests, of all or of one session."""
    async with opened(workload_host="node-1") as small:
        small.engine("a").chat = [good_stream("x", gap_s=9.0)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: small.chat(session="s-1", stream=True))
            await trio.sleep(1)
            found = (await page(small, "/v1/requests", "active=1")).json
            assert [(one["phase"], one["session_id"]) for one in found["records"]] == [
                ("streaming", "s-1")
            ]
            none = (await page(small, "/v1/requests", "active=1&session_id=s-2&limit=1")).json
            assert none["records"] == []
            node = (await page(small, "/v1/workloads", token=None)).json
            assert [one["state"] for one in node["sources"][0]["records"]] == ["running"]
        assert (await page(small, "/v1/requests", "active=1")).json["records"] == []


async def test_decisions_are_the_newest_first():
    """At most the limit, and how many there are."""
    async with opened() as small:
        for _ in range(3):
            await small.chat()
        found = (await page(small, "/v1/decisions", "limit=2")).json
        assert [one["gateway_request_id"][-1] for one in found["records"]] == ["2", "1"]
        assert (found["count"], found["available"], found["limit"]) == (2, 3, 2)
        assert (await page(small, "/v1/decisions")).json["limit"] == 20


async def test_an_unknown_model_is_one_route_and_its_name_nowhere():
    """Unknown-model refusals are recorded, under one fixed label."""
    async with opened() as small:
        for name in ("kanarie-1", "kanarie-2"):
            assert (await small.chat(model=name)).status == 404
        stats = await page(small, "/v1/stats")
        assert list(stats.json["routes"]) == ["unknown_model"]
        assert stats.json["requests"] == {"total": 2, "succeeded": 0, "failed": 2}
        for path in ("/v1/stats", "/v1/decisions"):
            assert b"kanarie" not in (await page(small, path)).body


async def test_stats_are_of_the_newest_that_match():
    """The limit counts matching records; a filter names a configured alias."""
    async with opened() as small:
        for model in ("llm.primary", "nobody", "llm.primary"):
            await small.chat(model=model)
        found = (await page(small, "/v1/stats", "model=LLM.Primary&limit=1")).json
        assert (found["available"], found["matching"], found["count"]) == (3, 2, 1)
        assert (found["model"], list(found["routes"])) == ("llm.primary", ["llm.primary"])
        assert (await page(small, "/v1/stats", "model=nobody")).status == 404


async def test_counting_many_records_lets_others_run():
    """Thousands of records are counted in parts: a stream never waits for the whole page."""
    async with opened() as small:
        assert await turns_of_others(small, 5000) >= await turns_of_others(small, 1) + 10


async def turns_of_others(small, count):
    """How often another task runs while the page over so many records is made."""
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    small.ring._records.clear()
    for _ in range(count):
        small.ring.append(small_record("1"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        assert (await page(small, "/v1/stats", "limit=10000")).json["count"] == count
        nursery.cancel_scope.cancel()
    return turns


@pytest.mark.parametrize("token", [TOKEN, None])
async def test_workloads_are_there_only_where_the_host_has_a_name(token):
    """Without a name the path is nowhere; with one the operator's token is the wrong key."""
    async with opened() as small:
        answer = await page(small, "/v1/workloads", token=token)
        assert (answer.status, answer.code) == (404, "not_found")
        assert "path is" not in answer.json["error"]["message"]
        hint = await page(small, "/workloads", token=token)
        assert hint.json["error"]["message"] == "There is nothing at this path."
    async with opened(workload_host="node-1") as small:
        answer = await page(small, "/v1/workloads", token=token)
        if token is None:
            assert (answer.status, answer.json["host"]) == (200, "node-1")
        else:
            assert (answer.status, answer.code) == (403, "authorization_scope_denied")
