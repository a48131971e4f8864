"""The names that the service makes."""

import secrets
import uuid

from anvil_trio.operations.ids import (
    ARTIFACT_FILE,
    is_artifact_id,
    is_idempotency_key,
    is_operation_id,
    job_key,
    new_artifact_id,
    new_operation_id,
)


def test_ids_are_opaque_and_never_the_same() -> None:
    """192 random bits, in letters that are safe in a URL and in a file's name."""
    made = {new_artifact_id(secrets.token_urlsafe) for _ in range(100)}
    assert len(made) == 100
    assert all(is_artifact_id(each) and ARTIFACT_FILE.fullmatch(each) for each in made)
    operation = new_operation_id(secrets.token_urlsafe)
    assert operation.startswith("op_")
    assert is_operation_id(operation)
    assert not is_operation_id(operation + "\n")
    assert not is_artifact_id(operation)


def test_a_job_is_called_the_same_after_a_restart() -> None:
    """A UUID, made of the operation's id and nothing else."""
    assert job_key("op_a") == job_key("op_a") != job_key("op_b")
    assert str(uuid.UUID(job_key("op_a"))) == job_key("op_a")


def test_a_key_is_a_short_plain_word() -> None:
    """128 characters at most, none that a log or a URL would change."""
    assert is_idempotency_key("a" * 128)
    assert is_idempotency_key("2026-11-30T10:00_x.y:z")
    assert not any(map(is_idempotency_key, ["", "a" * 129, "-a", "a b", "ä", "a\n"]))
