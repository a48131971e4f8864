"""The opaque names that the service makes, and the grammars of those that it is told. Pure."""

import re
import uuid
from collections.abc import Callable

__all__ = [
    "ARTIFACT_FILE",
    "Token",
    "is_artifact_id",
    "is_idempotency_key",
    "is_operation_id",
    "job_key",
    "new_artifact_id",
    "new_operation_id",
]

Token = Callable[[int], str]
"""Makes url-safe text out of that many random bytes; `secrets.token_urlsafe`."""

ARTIFACT_FILE = re.compile(r"art_[A-Za-z0-9_-]{32}(\.part)?")
"""What the service calls its files, whole or half written; every other name is somebody else's."""

_ARTIFACT = re.compile(r"art_[A-Za-z0-9_-]{32}")
_OPERATION = re.compile(r"op_[A-Za-z0-9_-]{32}")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_JOBS = uuid.UUID("6f1c7a52-2b0e-5d0a-9f55-0d4c1b8d7e31")
_BYTES = 24  # 32 characters, 192 bits


def new_operation_id(token: Token) -> str:
    """An id that nobody can guess."""
    return f"op_{token(_BYTES)}"


def new_artifact_id(token: Token) -> str:
    """An id that nobody can guess, and that is safe as a file's name."""
    return f"art_{token(_BYTES)}"


def is_artifact_id(text: str) -> bool:
    """Whether `text` may be the id of an artifact."""
    return _ARTIFACT.fullmatch(text) is not None


def is_operation_id(text: str) -> bool:
    """Whether `text` may be the id of an operation; what may not is not even looked for."""
    return _OPERATION.fullmatch(text) is not None


def is_idempotency_key(text: str) -> bool:
    """Whether `text` may be a caller's key: 1 to 128 letters, digits and `_.:-`."""
    return _KEY.fullmatch(text) is not None


def job_key(operation_id: str) -> str:
    """What the backend calls the operation's job: the same after every restart."""
    return str(uuid.uuid5(_JOBS, operation_id))
