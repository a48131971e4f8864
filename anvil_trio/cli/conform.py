"""`anvil-serving conform`: whether a gateway keeps its word, as a client of it sees it."""

import click

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.measured import (
    CHECK_FAILED,
    JSON_OPTION,
    TIMEOUT_OPTION,
    UNREACHABLE,
    URL_OPTION,
    Bar,
    answer,
    auth_option,
    has_failed,
    measure,
    print_results,
    resolve_target,
)
from anvil_trio.conform.asking import Asker, Target
from anvil_trio.conform.checks import GATEWAY_CHECKS, Gateway
from anvil_trio.conform.reply import Trouble
from anvil_trio.conform.running import run_checks
from anvil_trio.conform.verdict import Result
from anvil_trio.evals.evidence import project_results

__all__ = ["conform"]

_COMMAND = "conform"
_KEY_ENV = "ANVIL_GATEWAY_KEY"
"""A name of its own: an operator's token goes nowhere unless somebody says so."""
_ANSWERS_A_CHECK = 10
"""The check with most requests makes nine of them."""


async def check_gateway(target: Target, timeout_s: float, *, is_shown: bool) -> list[Result]:
    """The result of every check. Raises CommandFailed if there is nobody to ask."""
    asker = Asker(target, timeout_s=timeout_s)
    if (await asker.ask(asker.get("/"))).trouble is Trouble.REFUSED:
        raise CommandFailed(UNREACHABLE)
    with Bar(is_wanted=is_shown) as bar:
        step = bar.begin("checking", len(GATEWAY_CHECKS))
        return list(
            await run_checks(
                GATEWAY_CHECKS,
                Gateway(asker),
                limit_s=timeout_s * _ANSWERS_A_CHECK,
                tell=lambda _result: step(),
            )
        )


def _run(url: str, model: str, auth_env: str | None, timeout: float, *, is_json: bool) -> None:
    results: list[Result] = []

    async def work() -> None:
        target = resolve_target(url, model, auth_env, _KEY_ENV)
        results.extend(await check_gateway(target, timeout, is_shown=not is_json))

    measure(_COMMAND, work, is_json=is_json)
    if not is_json:
        print_results(results)
    failure = CHECK_FAILED if has_failed(results) else None
    answer(_COMMAND, {"checks": [*project_results(results)]}, failure, is_json=is_json)


conform = click.Command(
    "conform",
    callback=_run,
    params=[
        URL_OPTION,
        click.Option(
            ["--model"], metavar="ALIAS", required=True, help="A model that the gateway serves."
        ),
        auth_option(_KEY_ENV),
        TIMEOUT_OPTION,
        JSON_OPTION,
    ],
    help="Check any gateway as its clients see it: streams, ends, refusals, leaving.\n\n"
    "Chat Completions, Messages and Responses, those that it speaks. It sends some sixty small "
    "requests, and one of 40 MiB that should be refused. Status 0: no check failed, 1: one did, "
    "4: there is no server.",
)
