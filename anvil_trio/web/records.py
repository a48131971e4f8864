"""The pages about requests: the ring, the running exchanges, and a file that a thread reads."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType

import trio

from anvil_trio.decisions.history import MOST_RECORDS, Found, History, Unreadable
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.ring import by_id
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.names import is_correlation_token
from anvil_trio.views.decisions import project_decisions
from anvil_trio.views.query import Values
from anvil_trio.views.requests import Scope, project_active, project_history, project_request
from anvil_trio.views.stats import Tally, project_stats
from anvil_trio.views.workloads import WorkloadsQuery, project_workloads
from anvil_trio.web.question import Page, Question, View, asked

__all__ = ["RECORD_VIEWS"]

_AT_ONCE = 256
"""How many records are counted before others may run."""

_MEMORY: Scope = "current_decision_log_buffer"
_FILE: Scope = "decision_log_jsonl"

_MOST_ACTIVE = 200
_NO_REQUEST = problem(Code.NOT_FOUND, message="No request of this id is known.")
_NO_HISTORY = problem(Code.HISTORY_UNAVAILABLE)
_WHICH = problem(
    Code.INVALID_REQUEST, message="The query must have history=1 or active=1, and not both."
)
_WHOSE = problem(
    Code.INVALID_REQUEST, message="A history is asked for by session.", param="session_id"
)
_TOO_MANY = problem(
    Code.INVALID_REQUEST, message="A history has at most 50 records.", param="limit"
)


async def _stats(
    house: House, _generation: Generation, _question: Question, values: Values
) -> Page:
    """Counted in parts, since ten thousand records at once would make every stream wait."""
    records, model, limit = list(house.log.ring), values.only, values.limit
    total, routes, matching = Tally(), defaultdict[str, Tally](Tally), 0
    for number, record in enumerate(records, 1):
        if model in {None, record.route}:
            matching += 1
            if matching <= limit:
                total.add(record)
                routes[record.route].add(record)
        if number % _AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    return project_stats(
        total, routes, available=len(records), matching=matching, limit=limit, model=model
    )


async def _request(
    house: House, _generation: Generation, question: Question, _values: Values
) -> Page | Problem:
    request_id = question.named
    if not is_correlation_token(request_id):
        return _NO_REQUEST
    record = house.log.ring.find(request_id)
    if record is not None:
        return project_request(record, _MEMORY)
    if house.log.history is None:
        return _NO_REQUEST
    try:
        found = await house.log.history.search(by_id(request_id), 1)
    except Unreadable:
        return _NO_HISTORY
    return project_request(found.records[0], _FILE) if found.records else _NO_REQUEST


async def _requests(
    house: House, _generation: Generation, _question: Question, values: Values
) -> Page | Problem:
    session_id, limit = values.text("session_id"), values.number("limit")
    if values.flag("history") == values.flag("active"):
        return _WHICH
    if values.flag("active"):
        running = house.exchanges.seen(trio.current_time())
        return project_active(running, session_id=session_id, limit=limit or _MOST_ACTIVE)
    if session_id is None:
        return _WHOSE
    if limit is not None and limit > MOST_RECORDS:
        return _TOO_MANY
    return await _history(house, session_id, limit or MOST_RECORDS)


async def _history(house: House, session_id: str, limit: int) -> Page | Problem:
    """Memory and the file; a file that cannot be read hides nothing that memory has."""
    kept = [one for one in house.log.ring if one.session_id == session_id]
    history, found, is_available = house.log.history, Found(), True
    if history is not None and len(kept) <= limit:
        try:
            found = await _older(history, session_id, kept)
        except Unreadable:
            is_available = False
    if not is_available and not kept:
        return _NO_HISTORY
    return project_history(
        session_id,
        [*kept, *found.records],
        limit=limit,
        scope=_MEMORY if history is None else _FILE,
        may_be_more=found.may_be_more,
        is_available=is_available,
    )


async def _older(history: History, session_id: str, kept: list[DecisionRecord]) -> Found:
    """What the file has of a session beside what memory has."""
    known = {one.gateway_request_id for one in kept}
    return await history.search(
        lambda one: one.session_id == session_id and one.gateway_request_id not in known
    )


async def _decisions(
    house: House, _generation: Generation, _question: Question, values: Values
) -> Page:
    ring, limit = house.log.ring, values.limit
    return project_decisions(list(islice(ring, limit)), available=len(ring), limit=limit)


async def _workloads(
    house: House, generation: Generation, _question: Question, values: Values
) -> Page:
    host = generation.config.server.workload_host
    assert host is not None, "without a host there is no such page"
    query = WorkloadsQuery(
        owner=values.text("owner"),
        kind=values.text("kind"),
        state=values.text("state"),
        host=values.text("host"),
        is_active_only=values.flag("active_only"),
        recent_s=values.number("recent_seconds"),
        limit=values.limit,
    )
    running = house.exchanges.seen(trio.current_time())
    return project_workloads(host, running, house.log.ring, query, now_unix=house.wall_clock())


RECORD_VIEWS: Mapping[str, View] = MappingProxyType({
    "stats": asked("stats", _stats),
    "request": asked("request", _request),
    "requests": asked("requests", _requests),
    "decisions": asked("decisions", _decisions),
    "workloads": asked("workloads", _workloads),
})
