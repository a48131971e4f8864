"""How every `serves` command answers: lines or one JSON object, and the status that it means."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.serves_desk import FilesInvalid
from anvil_trio.cli.serves_words import explain_failure
from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.journal import Journal
from anvil_trio.lifecycle.progress import steps_of
from anvil_trio.lifecycle.promote import Outcome

__all__ = ["Answer", "answer", "project_journal", "tell_outcome"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found or did: an object, the same in lines, and why it is no success."""

    data: JsonValue
    lines: Sequence[str]
    failure: Failure | None = None


def answer(
    command: str,
    work: Callable[[], Answer],
    *,
    is_json: bool,
    refused_as: Exit = Exit.EXECUTION,
) -> None:
    """Do the work, say what came of it, and exit with the status that this means."""
    try:
        found = work()
    except FilesInvalid as invalid:
        problems: list[JsonValue] = [
            {"path": each.path, "code": each.code.value, "message": each.message}
            for each in invalid.problems
        ]
        for problem in () if is_json else invalid.problems:
            click.echo(problem.line, err=True)
        found = Answer({"problems": problems}, (), invalid.failure)
    except CommandFailed as failed:
        found = Answer(None, (), failed.failure)
    except LifecycleFailed as failed:
        found = Answer(None, (), explain_failure(failed.code, refused_as=refused_as))
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    _tell(command, found, is_json=is_json)


def _tell(command: str, found: Answer, *, is_json: bool) -> None:
    failure = found.failure
    if is_json:
        click.echo(render_envelope(command, found.data, failure))
    else:
        for line in found.lines:
            click.echo(line if line.isprintable() else "?")
        if failure is not None:
            is_fixed = failure.message == failure.code
            click.echo(failure.code if is_fixed else f"{failure.code}: {failure.message}", err=True)
    if failure is not None:
        sys.exit(failure.status)


def project_journal(journal: Journal) -> dict[str, JsonValue]:
    """An operation as it is shown: names, digests and steps, no gate and no path."""
    side, steps = journal.side, steps_of(journal.order, journal.path)
    return {
        "id": journal.id or None,
        "kind": journal.kind,
        "name": journal.name,
        "status": journal.status.value,
        "goal": journal.goal.value,
        "is_undoing": journal.progress.is_undoing,
        "step": None if journal.step is None else journal.step.value,
        "steps": [step.value for step in steps],
        "starts": [*side.serves],
        "stops": [*side.stops],
        "closes": [*side.closes],
        "opens": [*side.opens],
        "config_sha256": side.config_sha256,
        "error": journal.error,
    }


def tell_outcome(outcome: Outcome) -> Answer:
    """What came of an operation that was walked."""
    journal = outcome.journal
    data: JsonValue = {
        "applied": outcome.is_success,
        "operation": project_journal(journal),
        "event_recorded": outcome.is_recorded,
    }
    if outcome.is_success:
        return Answer(data, [f"{journal.id}: done"])
    assert journal.error is not None, "an operation fails for a reason"
    if journal.progress.is_finished:
        words = f"{journal.id}: failed, and undone"
    else:
        step = "" if journal.step is None else journal.step.value
        words = f"{journal.id}: failed at {step}; --resume or --rollback takes it up"
    return Answer(data, [words], explain_failure(journal.error))
