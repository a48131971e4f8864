"""Names of things: their types and the grammars that bound them.

A grammar is always matched in full, so a trailing newline is refused.
"""

import re
from typing import NewType

__all__ = [
    "DIRECT_MEMBER",
    "LEGACY_CLIENT",
    "Alias",
    "ClientId",
    "MemberId",
    "OwnerId",
    "RequestId",
    "SessionId",
    "TierId",
    "is_correlation_token",
    "is_digest",
    "is_env_name",
    "is_identifier",
    "is_qualification_ref",
    "is_version_label",
    "normalise_alias",
]

Alias = NewType("Alias", str)
ClientId = NewType("ClientId", str)
MemberId = NewType("MemberId", str)
OwnerId = NewType("OwnerId", int)
RequestId = NewType("RequestId", str)
SessionId = NewType("SessionId", str)
TierId = NewType("TierId", str)

DIRECT_MEMBER = MemberId("")
"""The one unnamed member of a direct tier; no projection ever shows it."""

LEGACY_CLIENT = ClientId("_legacy")
"""Everyone who uses the operator token, and everyone when authentication is off."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_QUALIFICATION_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_VERSION_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_CLOUD_KEY = re.compile(r"(AKIA|ASIA)[A-Z0-9]{16}")
_CORRELATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


def is_identifier(text: str) -> bool:
    """Whether `text` may name a member, host, resource or client (R003)."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_qualification_ref(text: str) -> bool:
    """Whether `text` is a safe opaque label for evidence kept elsewhere (R006)."""
    return _QUALIFICATION_REF.fullmatch(text) is not None


def is_version_label(text: str) -> bool:
    """Whether `text` may stand for a model revision or engine version (R005)."""
    return _VERSION_LABEL.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    """Whether `text` is `sha256:` and 64 lower-case hex digits (R005)."""
    return _DIGEST.fullmatch(text) is not None


def is_env_name(text: str) -> bool:
    """Whether `text` names an environment variable and does not look like a key itself."""
    return _ENV_NAME.fullmatch(text) is not None and _CLOUD_KEY.fullmatch(text) is None


def is_correlation_token(text: str) -> bool:
    """Whether a caller's request or session id is safe to keep and show."""
    return _CORRELATION.fullmatch(text) is not None


def normalise_alias(text: str) -> Alias:
    """The key under which a caller's model name is looked up (R001): trimmed, lower case."""
    return Alias(text.strip().lower())
