"""Which of MCP's two manners a request is made in, and whether it is made rightly. Pure.

In the stateless manner each request says its version and its client's capabilities in `_meta`. In
the classic one a client shakes hands once (`initialize`) and names the version that was agreed in a
header, or, where the version is older than that header, by sending the session id that it was
given. We keep no session: the id stands for nothing but the handshake.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from anvil_trio.media.json_rpc import Message, RpcCode, RpcError, invalid_params

__all__ = [
    "CLASSIC",
    "STATELESS",
    "VERSIONS",
    "Manner",
    "McpHeaders",
    "agreed_version",
    "manner_of",
    "needs_session",
    "takes_batches",
]

STATELESS = "2026-07-28"
CLASSIC = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSIONS = (STATELESS, *reversed(CLASSIC))

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_WITHOUT_HEADER = frozenset({"2024-11-05", "2025-03-26"})
_SESSION_VERSION = "2025-03-26"
"""What a request with a session id and no version is taken for: the last that had no header."""

_NO_META = invalid_params(
    f"`params._meta` must be an object with `{_VERSION_KEY}`, a string, and"
    f" `{_CAPABILITIES_KEY}`, an object.",
    "missing_meta",
)
_OTHER_VERSION = RpcError(
    RpcCode.UNSUPPORTED_PROTOCOL_VERSION,
    "This protocol version is not supported.",
    {"supported": [*VERSIONS]},
)
_MISMATCH = RpcError(
    RpcCode.HEADER_MISMATCH, "A header of MCP comes twice or says something else than the body."
)
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


@dataclass(frozen=True, slots=True)
class McpHeaders:
    """What the head of a request says of its message; each header as often as it came."""

    versions: Sequence[str] = ()
    methods: Sequence[str] = ()
    names: Sequence[str] = ()
    has_session: bool = False


@dataclass(frozen=True, slots=True)
class Manner:
    """How a request is made, and so how it is answered."""

    version: str

    @property
    def is_stateless(self) -> bool:
        """Whether every request stands for itself."""
        return self.version == STATELESS


def manner_of(message: Message, said: McpHeaders) -> Manner | RpcError:
    """The manner of one message, or why it is made in none."""
    if max(map(len, (said.versions, said.methods, said.names))) > 1:
        return _MISMATCH
    version = said.versions[0] if said.versions else None
    meta = message.params.get("_meta")
    if version == STATELESS or (isinstance(meta, dict) and _VERSION_KEY in meta):
        return _stateless(message, meta, said)
    if version in CLASSIC:
        return Manner(version)
    if version is not None:
        return _OTHER_VERSION
    if said.has_session or message.method == "initialize":
        return Manner(_SESSION_VERSION)
    return _NO_META


def _stateless(message: Message, meta: JsonValue, said: McpHeaders) -> Manner | RpcError:
    if not isinstance(meta, dict):
        return _NO_META
    version = meta.get(_VERSION_KEY)
    if not isinstance(version, str) or not isinstance(meta.get(_CAPABILITIES_KEY), dict):
        return _NO_META
    if said.versions and said.versions[0] != version:
        return _MISMATCH
    if said.methods and said.methods[0] != message.method:
        return _MISMATCH
    if said.names and _decoded(said.names[0]) != message.params.get("name"):
        return _MISMATCH
    return Manner(version) if version == STATELESS else _OTHER_VERSION


def _decoded(value: str) -> str | None:
    """A header's value, which is wrapped where it could not travel as it is; None if wrongly."""
    found = _ENCODED.fullmatch(value)
    if found is None:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def agreed_version(params: Mapping[str, JsonValue]) -> str | RpcError:
    """The version that a handshake comes to: the client's, or else the newest classic one."""
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        return invalid_params("`protocolVersion` must be a string.")
    return wanted if wanted in CLASSIC else CLASSIC[-1]


def needs_session(version: str) -> bool:
    """Whether a client of that version names it in no later request, and so needs an id."""
    return version in _WITHOUT_HEADER


def takes_batches(said: McpHeaders) -> bool:
    """Whether several messages may come in one body: where the older versions are spoken."""
    if said.versions:
        return set(said.versions) <= _WITHOUT_HEADER
    return said.has_session
