"""`anvil-serving eval benchmark`: how fast a server is, and what a router in front of it adds."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import click
from pydantic import JsonValue

from anvil_trio.cli.benchmark_view import project_added, render_added, render_rounds, render_svg
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.eval_preflight import ENGINE_KEY_ENV
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.measured import (
    JSON_OPTION,
    MODEL_OPTION,
    TIMEOUT_OPTION,
    UNREACHABLE,
    URL_OPTION,
    Bar,
    answer,
    auth_option,
    measure,
    resolve_target,
)
from anvil_trio.cli.reading import open_console
from anvil_trio.cli.usage import BadUsage
from anvil_trio.config.load import current_folder, expand_path
from anvil_trio.conform.asking import Asker, Target
from anvil_trio.conform.reply import Trouble
from anvil_trio.evals.load import Load, run_load, try_once
from anvil_trio.evals.samples import Round, project_round

__all__ = ["benchmark"]

_COMMAND = "eval benchmark"
_KEEPALIVE_S = 4.0
_MOST_AT_ONCE, _MOST_ROUNDS = 1024, 16
_FAILED = Failure(Exit.EXECUTION, "requests_failed", "Some requests were not answered well.")
_NOT_DRAWN = Failure(Exit.EXECUTION, "plot_not_written", "The plot could not be written.")


def _read_steps(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Numbers in a row, parted by commas; a usage error if they are none."""
    words = text.split(",")
    is_right = len(words) <= _MOST_ROUNDS and all(
        word.isascii() and word.isdecimal() and 1 <= int(word[:5]) <= _MOST_AT_ONCE
        for word in words
    )
    if not is_right:
        raise click.BadParameter("", context, parameter)
    return tuple(int(word) for word in words)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be measured, in rounds."""

    concurrency: Sequence[int]
    requests: int
    prompt_tokens: int
    output_tokens: int
    timeout_s: float

    def load(self, at_once: int) -> Load:
        """One round."""
        return Load(at_once, self.requests, self.prompt_tokens, self.output_tokens)


@dataclass(slots=True)
class _Found:
    rounds: list[Round] = field(default_factory=list)
    others: list[Round] = field(default_factory=list)

    def project(self) -> JsonValue:
        """All of it as JSON."""
        pairs = zip(self.rounds, self.others, strict=False)
        return {
            "rounds": [project_round(one) for one in self.rounds],
            "against": [project_round(one) for one in self.others] or None,
            "added": [project_added(*pair) for pair in pairs] or None,
        }


async def _measure(plan: _Plan, targets: Sequence[Target], bar: Bar) -> _Found:
    """Round by round, and within a round one server after the other."""
    run = secrets.token_hex(4)
    askers = [Asker(each, timeout_s=plan.timeout_s, keepalive_s=_KEEPALIVE_S) for each in targets]
    found = _Found()
    try:
        for asker in askers:
            reply = await try_once(asker, plan.load(1), f"{run}-first")
            if reply.trouble is Trouble.REFUSED:
                raise CommandFailed(UNREACHABLE)
        for at_once in plan.concurrency:
            for asker, into in zip(askers, (found.rounds, found.others), strict=False):
                words = f"{at_once} at once" + (" against" if into is found.others else "")
                step = bar.begin(words, plan.requests)
                label = f"{run}-{at_once}-{len(into)}-{words[-1]}"
                into.append(await run_load(asker, plan.load(at_once), label, step))
    finally:
        for asker in askers:
            await asker.aclose()  # never waits
    return found


def _targets(
    url: str,
    model: str,
    auth_env: str | None,
    against: str | None,
    against_model: str | None,
    against_auth_env: str | None,
) -> Sequence[Target]:
    one = resolve_target(url, model, auth_env, ENGINE_KEY_ENV)
    if against is None:
        return (one,)
    name = auth_env if against_auth_env is None else against_auth_env
    return (one, resolve_target(against, against_model or model, name, ENGINE_KEY_ENV))


def _run(
    url: str,
    model: str,
    auth_env: str | None,
    against: str | None,
    against_model: str | None,
    against_auth_env: str | None,
    concurrency: tuple[int, ...],
    requests: int,
    prompt_tokens: int,
    output_tokens: int,
    timeout: float,
    svg: str | None,
    *,
    is_json: bool,
) -> None:
    if against is None and (against_model is not None or against_auth_env is not None):
        raise BadUsage("--against-model and --against-auth-env need --against.")
    plan = _Plan(concurrency, requests, prompt_tokens, output_tokens, timeout)
    found = _Found()

    async def work() -> None:
        nonlocal found
        targets = _targets(url, model, auth_env, against, against_model, against_auth_env)
        with Bar(is_wanted=not is_json) as bar:
            found = await _measure(plan, targets, bar)

    measure(_COMMAND, work, is_json=is_json)
    is_bad = any(one.failures for one in (*found.rounds, *found.others))
    failure = _FAILED if is_bad else None
    if svg is not None and not _draw(svg, found):
        failure = _NOT_DRAWN
    if not is_json:
        _show(found)
    answer(_COMMAND, found.project(), failure, is_json=is_json)


def _draw(told: str, found: _Found) -> bool:
    try:
        path = current_folder() / expand_path(told, os.environ)
        path.write_text(render_svg(found.rounds, found.others), encoding="utf-8")
    except (OSError, ValueError):  # ValueError: a path with a null character
        return False
    return True


def _show(found: _Found) -> None:
    console = open_console()
    console.print(render_rounds("--url (times: p50 / p90 / p99)", found.rounds))
    if found.others:
        console.print("", render_rounds("--against", found.others))
        console.print("", render_added(found.rounds, found.others))


benchmark = click.Command(
    "benchmark",
    callback=_run,
    params=[
        URL_OPTION,
        MODEL_OPTION,
        auth_option(ENGINE_KEY_ENV),
        click.Option(
            ["--against"],
            metavar="URL",
            help="Another server, such as a router in front of the first: what it adds is shown.",
        ),
        click.Option(
            ["--against-model"],
            metavar="NAME",
            help="What that one calls the model. Without it: as --model.",
        ),
        click.Option(
            ["--against-auth-env"],
            metavar="NAME",
            help="The variable that holds its key. Without it: as --auth-env.",
        ),
        click.Option(
            ["--concurrency"],
            callback=_read_steps,
            metavar="N,N,...",
            default="1,4,16",
            show_default=True,
            help="How many requests run at once, a round for each number.",
        ),
        click.Option(
            ["--requests"],
            type=click.IntRange(1, 100_000),
            default=32,
            show_default=True,
            help="How many requests each round makes.",
        ),
        click.Option(
            ["--prompt-tokens"],
            type=click.IntRange(8, 1_000_000),
            default=128,
            show_default=True,
            help="About how long each prompt is.",
        ),
        click.Option(
            ["--output-tokens"],
            type=click.IntRange(1, 100_000),
            default=64,
            show_default=True,
            help="How many tokens each answer has, if the server takes ignore_eos; else at most.",
        ),
        TIMEOUT_OPTION,
        click.Option(["--svg"], metavar="FILE", help="Draw it, too; the file is replaced."),
        JSON_OPTION,
    ],
    help="Measure how fast a server is, and what a router in front of it adds.\n\n"
    "Chat Completions, streamed. Times are milliseconds at this client. Status 0: every request "
    "was answered, 1: some were not, 4: there is no server.",
)
