"""JSON-RPC 2.0 as both protocols use it: one message or a batch in, fixed words out. Pure.

Nothing of what was sent comes back but the id, which a caller needs to know its reply by (R012).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import msgspec
from pydantic import JsonValue

from anvil_trio.config.json_object import read_json
from anvil_trio.config.json_values import is_json
from anvil_trio.views.shape import Shape

__all__ = [
    "INTERNAL",
    "INVALID_REQUEST",
    "NOT_JSON",
    "NO_BATCH",
    "UNKNOWN_METHOD",
    "Batch",
    "Message",
    "Result",
    "RpcCode",
    "RpcError",
    "RpcId",
    "RpcRefusal",
    "invalid_params",
    "read_body",
    "render_error",
    "render_result",
]

RpcId: TypeAlias = str | int
Result: TypeAlias = Shape | Mapping[str, JsonValue]

MAX_ID_CHARS = 256
MAX_BATCH = 16

_VERSION = "2.0"
_encode = msgspec.json.Encoder().encode


class RpcCode(IntEnum):
    """The numbers of errors: JSON-RPC's own, what both protocols share, MCP's and A2A's."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603

    REFUSED = -32010  # the operation service, or a scope, says no; `data.code` says which

    HEADER_MISMATCH = -32020
    UNSUPPORTED_PROTOCOL_VERSION = -32022

    TASK_NOT_FOUND = -32001
    TASK_NOT_CANCELABLE = -32002
    PUSH_NOT_SUPPORTED = -32003
    UNSUPPORTED_OPERATION = -32004
    CONTENT_TYPE_NOT_SUPPORTED = -32005
    VERSION_NOT_SUPPORTED = -32009


@dataclass(frozen=True, slots=True)
class RpcError:
    """Why a message is not answered with a result: fixed words, and nothing that was sent."""

    code: RpcCode
    message: str
    data: JsonValue = None


@dataclass(frozen=True, slots=True)
class Message:
    """One request; a notification, which is never answered, where it has no `id`."""

    method: str
    params: Mapping[str, JsonValue]
    id: RpcId | None

    @property
    def is_notification(self) -> bool:
        """Whether the caller waits for no answer."""
        return self.id is None


@dataclass(frozen=True, slots=True)
class RpcRefusal:
    """What is no message, with the id under which its sender may look for this, if it had one."""

    id: RpcId | None
    error: RpcError


@dataclass(frozen=True, slots=True)
class Batch:
    """Several messages in one body, in their order."""

    items: tuple[Message | RpcRefusal, ...]


NOT_JSON = RpcError(
    RpcCode.PARSE_ERROR,
    "The body must be JSON in UTF-8, with no name given twice and not too deep.",
)
INVALID_REQUEST = RpcError(RpcCode.INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.")
NO_BATCH = RpcError(RpcCode.INVALID_REQUEST, "The body must be one message.")
UNKNOWN_METHOD = RpcError(RpcCode.METHOD_NOT_FOUND, "There is no such method.")
INTERNAL = RpcError(RpcCode.INTERNAL_ERROR, "The router failed; this request was not answered.")
_BATCH_SIZE = RpcError(RpcCode.INVALID_REQUEST, f"A batch must have 1 to {MAX_BATCH} messages.")
_NOT_BY_NAME = RpcError(RpcCode.INVALID_PARAMS, "`params` must be an object.")


def invalid_params(message: str, code: str = "invalid_params") -> RpcError:
    """-32602 in these fixed words."""
    return RpcError(RpcCode.INVALID_PARAMS, message, {"code": code})


def read_body(body: bytes) -> Message | Batch | RpcRefusal:
    """What a body says, or why it says nothing."""
    try:
        value = read_json(body)
    except ValueError:
        return RpcRefusal(None, NOT_JSON)
    if not is_json(value):
        return RpcRefusal(None, NOT_JSON)
    if not isinstance(value, list):
        return _read_message(value)
    if not 1 <= len(value) <= MAX_BATCH:
        return RpcRefusal(None, _BATCH_SIZE)
    return Batch(tuple(map(_read_message, value)))


def _read_message(value: JsonValue) -> Message | RpcRefusal:
    if not isinstance(value, dict):
        return RpcRefusal(None, INVALID_REQUEST)
    known = _id_of(value.get("id"))
    method = value.get("method")
    is_request = value.get("jsonrpc") == _VERSION and isinstance(method, str)
    if not is_request or ("id" in value and known is None):
        return RpcRefusal(known, INVALID_REQUEST)
    assert isinstance(method, str)
    params = value.get("params", {})
    if isinstance(params, dict):
        return Message(method, params, known)
    return RpcRefusal(known, _NOT_BY_NAME if isinstance(params, list) else INVALID_REQUEST)


def _id_of(value: JsonValue) -> RpcId | None:
    """What may be an id; None for anything else."""
    if isinstance(value, str):
        return value if len(value) <= MAX_ID_CHARS else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def render_result(to: RpcId, result: Result) -> bytes:
    """The answer to one request."""
    return _encode({"jsonrpc": _VERSION, "id": to, "result": result})


def render_error(to: RpcId | None, error: RpcError) -> bytes:
    """The refusal of one request, or of something that had no id."""
    shown: dict[str, object] = {"code": int(error.code), "message": error.message}
    if error.data is not None:
        shown["data"] = error.data
    return _encode({"jsonrpc": _VERSION, "id": to, "error": shown})
