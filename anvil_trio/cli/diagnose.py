"""`anvil-serving router diagnose`: what the router's pages say of one request, a session, or now.

It only reads. No engine is asked, and no request is ever sent again.
"""

import os

import click
from pydantic import JsonValue

from anvil_trio.cli.diagnosis import diagnose_active, diagnose_request, diagnose_session
from anvil_trio.cli.diagnosis_text import render_diagnosis
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.reach import Reach, Told, reach_params, resolve_reach
from anvil_trio.cli.reading import tell
from anvil_trio.cli.replies import ActivePage, HistoryPage, RequestPage, StatusPage, read_page
from anvil_trio.cli.router_client import ACCESS_DENIED, ask_router
from anvil_trio.cli.status import STATUS_PATH
from anvil_trio.cli.usage import BadUsage
from anvil_trio.config.load import current_folder
from anvil_trio.names import is_correlation_token

__all__ = ["Subject", "ask_about", "diagnose"]

_REQUESTS = "/v1/requests"
_MOST_OF_A_SESSION = "50"
_MOST_ACTIVE = "200"

_NO_REQUEST_ID = Failure(
    Exit.USAGE, "invalid_request_id", "A request id is 1 to 128 letters, digits and _ . : -."
)
_NO_SESSION_ID = Failure(
    Exit.USAGE, "invalid_session_id", "A session id is 1 to 128 letters, digits and _ . : -."
)
_NOT_FOUND = Failure(
    Exit.EXECUTION,
    "request_not_found",
    "No record of this request: it may still run, be too old, or have met another router.",
)


class Subject:
    """What is to be diagnosed: exactly one of the three."""

    def __init__(self, request_id: str | None, session_id: str | None, *, active: bool) -> None:
        """Raises CommandFailed for an id that no request can have."""
        if request_id is not None and not is_correlation_token(request_id):
            raise CommandFailed(_NO_REQUEST_ID)
        if session_id is not None and not is_correlation_token(session_id):
            raise CommandFailed(_NO_SESSION_ID)
        assert [request_id is not None, session_id is not None, active].count(True) == 1
        self.request_id = request_id
        self.session_id = session_id


async def ask_about(subject: Subject, reach: Reach) -> dict[str, JsonValue]:
    """The diagnosis, from one page or two. Raises CommandFailed."""
    if subject.request_id is not None:
        path = f"{_REQUESTS}/{subject.request_id}"
        question = reach.question(path, refusals={"not_found": _NOT_FOUND})
        page = read_page(await ask_router(question), RequestPage)
        return diagnose_request(page, await _status(reach))
    if subject.session_id is not None:
        query = {"session_id": subject.session_id, "history": "1", "limit": _MOST_OF_A_SESSION}
        history = read_page(await ask_router(reach.question(_REQUESTS, query)), HistoryPage)
        return diagnose_session(subject.session_id, history)
    query = {"active": "1", "limit": _MOST_ACTIVE}
    return diagnose_active(
        read_page(await ask_router(reach.question(_REQUESTS, query)), ActivePage)
    )


async def _status(reach: Reach) -> StatusPage | None:
    """The router as it is now; None for a credential that may not see it."""
    try:
        return read_page(await ask_router(reach.question(STATUS_PATH)), StatusPage)
    except CommandFailed as failed:
        if failed.failure is ACCESS_DENIED:
            return None
        raise


def _run(
    request_id: str | None,
    session_id: str | None,
    config: str | None,
    router_url: str | None,
    auth_env: str | None,
    timeout: float | None,
    *,
    is_active: bool,
    is_json: bool,
) -> None:
    if [request_id is not None, session_id is not None, is_active].count(True) != 1:
        raise BadUsage("Exactly one of --request-id, --session-id and --active is required.")

    async def ask() -> dict[str, JsonValue]:
        subject = Subject(request_id, session_id, active=is_active)
        told = Told(config, router_url, auth_env, timeout)
        return await ask_about(subject, resolve_reach(told, os.environ, current_folder()))

    tell("router diagnose", ask, render_diagnosis, is_json=is_json)


diagnose = click.Command(
    "diagnose",
    callback=_run,
    params=[
        click.Option(
            ["--request-id"], metavar="ID", help="One request, by the router's id or its caller's."
        ),
        click.Option(["--session-id"], metavar="ID", help="The finished requests of one session."),
        click.Option(["--active", "is_active"], is_flag=True, help="The requests that run now."),
        *reach_params(),
        click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object."),
    ],
    help="Explain one request, a session, or what runs now, from what the router has recorded.",
)
