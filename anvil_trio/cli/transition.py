"""`anvil-serving router quiesce|drain|readmit|transition-status`: orders to a running router."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click
import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.router_client import Question, ask_router
from anvil_trio.cli.transition_reply import Row, judge, read_rows, render_rows
from anvil_trio.cli.values import SecondsRange, Sendable
from anvil_trio.config.load import resolve_secret
from anvil_trio.config.urls import router_fault

__all__ = ["NOT_CONFIRMED", "ROUTER_URL_OPTION", "TRANSITIONS", "Order"]

_PATH = "/v1/admin/transition"
_TOKEN = "ANVIL_ROUTER_TOKEN"  # noqa: S105 - the name of a variable
_URL = "ANVIL_ROUTER_URL"
_DEFAULT_URL = "http://127.0.0.1:8000"
_MAX_TIMEOUT_S = 3600.0
_PATIENCE_S = 10.0
"""How much longer than a drain its answer is waited for."""

_NEEDS = f"The operator's token is the value of {_TOKEN}."

NOT_CONFIRMED = Failure(
    Exit.SAFETY, "confirmation_required", "This changes what the router takes; add --confirm."
)
_BAD_URL = Failure(
    Exit.USAGE,
    "invalid_router_url",
    "The router's URL must be http or https, and its host a literal loopback or private address.",
)
_NO_TOKEN = Failure(
    Exit.USAGE, "router_token_required", f"{_TOKEN} must hold the router's operator token."
)


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line says."""

    action: str
    tier: str | None
    member: str | None
    router_url: str | None
    timeout: float
    reason: str
    is_confirmed: bool

    def question(self, environ: Mapping[str, str]) -> Question:
        """The request to the router. Raises CommandFailed for an address or a token of no use."""
        names = {"tier_id": self.tier, "member_id": self.member}
        given = {key: name for key, name in names.items() if name is not None}
        is_drain = self.action == "drain"
        return Question(
            url=_checked_url(self.router_url or environ.get(_URL) or _DEFAULT_URL),
            token=_checked_token(resolve_secret(_TOKEN, environ)),
            path=_PATH,
            query=given if self.action == "status" else {},
            body=None if self.action == "status" else self._body(given),
            timeout_s=self.timeout + _PATIENCE_S if is_drain else self.timeout,
        )

    def _body(self, given: Mapping[str, str]) -> dict[str, JsonValue]:
        body: dict[str, JsonValue] = {"action": self.action, **given}
        if self.action == "drain":
            return {**body, "timeout": self.timeout}
        if self.action == "quiesce":
            body["reason"] = self.reason
        return {**body, "confirm": True, "dry_run": False}


def _command(name: str, action: str, words: str) -> click.Command:
    def run(
        tier: str | None,
        member: str | None,
        router_url: str | None,
        timeout: float,
        reason: str,
        *,
        is_confirmed: bool,
        is_json: bool,
    ) -> None:
        order = Order(action, tier, member, router_url, timeout, reason, is_confirmed)
        _carry_out(f"router {name}", order, is_json=is_json)

    return click.Command(name, callback=run, params=list(_options(action)), help=words)


ROUTER_URL_OPTION = click.Option(
    ["--router-url"],
    metavar="URL",
    help=f"The router; its host is a literal private address. Without it: ${_URL}, else "
    f"{_DEFAULT_URL}.",
)


def _options(action: str) -> Sequence[click.Parameter]:
    return (
        click.Option(
            ["--tier"],
            type=Sendable(),
            metavar="ID",
            required=action != "status",
            help="The tier.",
        ),
        click.Option(
            ["--member"],
            type=Sendable(),
            metavar="ID",
            help="One member of the tier; else the tier.",
        ),
        ROUTER_URL_OPTION,
        click.Option(
            ["--timeout"],
            type=SecondsRange(0, _MAX_TIMEOUT_S, min_open=True),
            default=30.0,
            show_default=True,
            help="Seconds: how long a drain may take, else how long the router may.",
        ),
        click.Option(
            ["--reason"],
            type=Sendable(),
            default="operator",
            show_default=True,
            help="Why it is quiesced: a code of letters, digits, - _ and dots.",
        ),
        click.Option(
            ["--confirm", "is_confirmed"],
            is_flag=True,
            help="Really do it; a quiesce or a readmission needs it, a drain changes nothing.",
        ),
        click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object."),
    )


TRANSITIONS = (
    _command(
        "quiesce",
        "quiesce",
        f"Stop new requests to a tier or a member; what runs goes on.\n\n{_NEEDS}",
    ),
    _command(
        "drain",
        "drain",
        f"Wait until nothing runs any more in a tier or on a member that is quiesced.\n\n{_NEEDS}",
    ),
    _command(
        "readmit",
        "readmit",
        f"Open a tier or a member again, if it proves anew that it is ready.\n\n{_NEEDS}",
    ),
    _command(
        "transition-status",
        "status",
        f"Show intent, counters and readiness of all tiers, of one, or of a member.\n\n{_NEEDS}",
    ),
)


def _carry_out(command: str, order: Order, *, is_json: bool) -> None:
    """Ask, say what came of it, and exit with the status that this means."""
    data: dict[str, JsonValue] | None = None
    rows: Sequence[Row] = ()
    failure: Failure | None = None
    try:
        reply = _ask(order)
        rows = read_rows(order.action, reply, order.tier)
        data = reply  # nobody is shown what could not be read
        failure = judge(order.action, data, rows)
    except CommandFailed as failed:
        failure = failed.failure
    if is_json:
        click.echo(render_envelope(command, data, failure))
    else:
        for line in render_rows(rows):
            click.echo(line)
        if failure is not None:
            click.echo(f"{failure.code}: {failure.message}", err=True)
    if failure is not None:
        sys.exit(failure.status)


def _ask(order: Order) -> dict[str, JsonValue]:
    if order.action in {"quiesce", "readmit"} and not order.is_confirmed:
        raise CommandFailed(NOT_CONFIRMED)
    return trio.run(ask_router, order.question(os.environ))


def _checked_url(url: str) -> str:
    if router_fault(url) is not None:
        raise CommandFailed(_BAD_URL)
    return url


def _checked_token(token: str | None) -> str:
    if not token or not token.isascii() or not token.isprintable():
        raise CommandFailed(_NO_TOKEN)
    return token
