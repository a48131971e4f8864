"""What MCP is answered with, in the manner of the version that was spoken. Pure."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

import msgspec
from pydantic import JsonValue

from anvil_trio.media.json_rpc import RpcCode
from anvil_trio.media.mcp_manner import VERSIONS, Manner
from anvil_trio.media.mcp_tools import list_tools
from anvil_trio.views.shape import Shape

__all__ = ["McpAnswers", "status_of"]

_INSTRUCTIONS = (
    "Named media workflows. List them, look at one, run it with an idempotency key of your own,"
    " and ask for the job's status until it has ended."
)
_TTL_MS = 60_000
"""How long a client may keep a list that changes with the router's version only."""

_FOREVER: Mapping[str, JsonValue] = {"ttlMs": _TTL_MS, "cacheScope": "private"}

_STATUS: Mapping[RpcCode, HTTPStatus] = MappingProxyType({
    RpcCode.PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    RpcCode.INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    RpcCode.INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    RpcCode.HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    RpcCode.UNSUPPORTED_PROTOCOL_VERSION: HTTPStatus.BAD_REQUEST,
    RpcCode.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
})

_encode = msgspec.json.Encoder().encode


class McpAnswers:
    """The results of one router, whose version they name."""

    def __init__(self, version: str) -> None:
        self._server: dict[str, JsonValue] = {
            "name": "anvil-serving",
            "title": "Anvil media workflows",
            "version": version,
        }

    def initialized(self, version: str) -> dict[str, JsonValue]:
        """The answer to a handshake that came to this version."""
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": self._server,
            "instructions": _INSTRUCTIONS,
        }

    def discovered(self) -> dict[str, JsonValue]:
        """The answer to `server/discover`."""
        return self._complete({
            "supportedVersions": [*VERSIONS],
            "capabilities": {"tools": {"listChanged": False}},
            "instructions": _INSTRUCTIONS,
            **_FOREVER,
        })

    def listed(self, manner: Manner) -> dict[str, JsonValue]:
        """The answer to `tools/list`, which has one page."""
        tools: dict[str, JsonValue] = {"tools": list_tools()}
        return self._complete({**tools, **_FOREVER}) if manner.is_stateless else tools

    def called(self, manner: Manner, shown: Shape, *, is_error: bool) -> dict[str, JsonValue]:
        """The answer to `tools/call`: the same as data and, for older clients, as text."""
        result: dict[str, JsonValue] = {
            "content": [{"type": "text", "text": _encode(shown).decode()}],
            "structuredContent": msgspec.to_builtins(shown),
            "isError": is_error,
        }
        return self._complete(result) if manner.is_stateless else result

    def _complete(self, result: dict[str, JsonValue]) -> dict[str, JsonValue]:
        about: JsonValue = {"io.modelcontextprotocol/serverInfo": self._server}
        return {"resultType": "complete", **result, "_meta": about}


def status_of(code: RpcCode, manner: Manner | None) -> int:
    """The HTTP status that an error comes with.

    A classic client's library takes a 404 for the end of its session, so what was understood is
    answered to it with a 200; what was not, or is stateless, has the status of the error.
    """
    if manner is not None and not manner.is_stateless:
        return HTTPStatus.OK
    return _STATUS.get(code, HTTPStatus.OK)
