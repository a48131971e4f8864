"""`anvil-serving eval preflight`: what one engine does of what the router depends on."""

import datetime as dt
import os
from dataclasses import dataclass
from pathlib import Path

import click
from pydantic import JsonValue

from anvil_trio import __version__
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.measured import (
    CHECK_FAILED,
    JSON_OPTION,
    MODEL_OPTION,
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
from anvil_trio.config.load import current_folder, expand_path, home_path
from anvil_trio.conform.asking import Asker, Target
from anvil_trio.conform.reply import Trouble
from anvil_trio.conform.running import run_checks
from anvil_trio.conform.verdict import Result
from anvil_trio.conform.voices import CHAT, MESSAGES
from anvil_trio.evals.checks import SERVE_CHECKS, Serve
from anvil_trio.evals.evidence import Evidence, make_evidence, project_results
from anvil_trio.evals.tier_block import render_tier
from anvil_trio.whole_file import replace_whole

__all__ = ["ENGINE_KEY_ENV", "preflight"]

ENGINE_KEY_ENV = "ANVIL_ENGINE_KEY"
_COMMAND = "eval preflight"
_VOICES = {"openai": CHAT, "anthropic": MESSAGES}
_CHECK_ANSWERS = 4
_WATCHING_S = 20.0
_NOT_KEPT = Failure(
    Exit.EXECUTION, "evidence_not_written", "The evidence could not be written to its folder."
)
_PROMISE = "This is evidence, not a promotion: nothing was configured, started or changed."
_NO_TIER = "No tier follows: identity, unary and stream must pass first."


@dataclass(frozen=True, slots=True)
class _Found:
    results: list[Result]
    evidence: Evidence
    tier: str | None


async def check_serve(
    target: Target, dialect: str, timeout_s: float, *, is_shown: bool
) -> list[Result]:
    """The result of every check. Raises CommandFailed if there is nobody to ask."""
    asker = Asker(target, timeout_s=timeout_s)
    if (await asker.ask(asker.get("/health"))).trouble is Trouble.REFUSED:
        raise CommandFailed(UNREACHABLE)
    with Bar(is_wanted=is_shown) as bar:
        step = bar.begin("checking", len(SERVE_CHECKS))
        return list(
            await run_checks(
                SERVE_CHECKS,
                Serve(asker, _VOICES[dialect]),
                limit_s=_CHECK_ANSWERS * timeout_s + _WATCHING_S,
                tell=lambda _result: step(),
            )
        )


def _run(
    url: str,
    model: str,
    dialect: str,
    auth_env: str | None,
    timeout: float,
    evidence: str | None,
    *,
    is_json: bool,
) -> None:
    found: list[_Found] = []

    async def work() -> None:
        target = resolve_target(url, model, auth_env, ENGINE_KEY_ENV)
        results = await check_serve(target, dialect, timeout, is_shown=not is_json)
        made = make_evidence(
            results, model=model, dialect=dialect, version=__version__, made_at=_now()
        )
        _write(made, _folder(evidence))
        tier = render_tier(
            results,
            base_url=url,
            model=model,
            dialect=dialect,
            auth_env=auth_env or ENGINE_KEY_ENV,
            qualification_ref=made.name,
        )
        found.append(_Found(results, made, tier))

    measure(_COMMAND, work, is_json=is_json)
    (one,) = found
    if not is_json:
        _show(one)
    failure = CHECK_FAILED if has_failed(one.results) else None
    answer(_COMMAND, _project(one), failure, is_json=is_json)


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _folder(told: str | None) -> Path:
    if told is None:
        return home_path(os.environ, current_folder()) / "evidence"
    return current_folder() / expand_path(told, os.environ)


def _write(evidence: Evidence, folder: Path) -> None:
    path = folder / f"{evidence.name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_whole(path, evidence.data, beside=folder / f".{evidence.name}.{os.getpid()}")
    except (OSError, ValueError):  # ValueError: a path with a null character
        raise CommandFailed(_NOT_KEPT) from None


def _show(found: _Found) -> None:
    print_results(found.results)
    click.echo(f"\nevidence: {found.evidence.name}.json")
    click.echo(f"{_PROMISE}\n")
    click.echo(found.tier or _NO_TIER, nl=found.tier is None)


def _project(found: _Found) -> JsonValue:
    return {
        "checks": [*project_results(found.results)],
        "evidence_sha256": found.evidence.sha256,
        "qualification_ref": found.evidence.name,
        "tier": found.tier,
        "promotes": False,
    }


preflight = click.Command(
    "preflight",
    callback=_run,
    params=[
        URL_OPTION,
        MODEL_OPTION,
        click.Option(
            ["--dialect"],
            type=click.Choice([*_VOICES]),
            default="openai",
            show_default=True,
            help="What the engine speaks.",
        ),
        auth_option(ENGINE_KEY_ENV),
        TIMEOUT_OPTION,
        click.Option(
            ["--evidence"],
            metavar="FOLDER",
            help="Where the evidence goes. Without it: $ANVIL_SERVING_HOME/evidence.",
        ),
        JSON_OPTION,
    ],
    help="Check one engine for what the router depends on, and propose its tier.\n\n"
    "It writes the evidence to a file that is named by its digest, and promotes nothing. Status 0: "
    "no check failed, 1: one did, 4: there is no server.",
)
