"""Problems in Anthropic's own vocabulary, alone or as the last event of a stream."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from anvil_trio.dialects.raw_json import encode
from anvil_trio.errors import Code, Problem

__all__ = ["error_event", "error_type", "render_problem"]

_TYPES: Mapping[Code, str] = MappingProxyType({
    Code.INVALID_REQUEST: "invalid_request_error",
    Code.CONTEXT_LENGTH_EXCEEDED: "invalid_request_error",
    Code.UNSUPPORTED_MEDIA: "invalid_request_error",
    Code.UNSUPPORTED_AUDIO_MODE: "invalid_request_error",
    Code.AUTHENTICATION: "authentication_error",
    Code.SCOPE_DENIED: "permission_error",
    Code.INVALID_TRANSITION: "invalid_request_error",
    Code.TRANSITION_FAILED: "api_error",
    Code.ACTIVATION_MISMATCH: "invalid_request_error",
    Code.ACTIVATION_INVALID: "invalid_request_error",
    Code.ACTIVATION_REQUIRES_RESTART: "invalid_request_error",
    Code.ACTIVATION_FAILED: "api_error",
    Code.MODEL_NOT_FOUND: "not_found_error",
    Code.ROUTE_NOT_FOUND: "not_found_error",
    Code.NOT_FOUND: "not_found_error",
    Code.ARTIFACT_NOT_FOUND: "not_found_error",
    Code.ARTIFACT_RANGE_INVALID: "invalid_request_error",
    Code.MEDIA_UNAVAILABLE: "api_error",
    Code.METHOD_NOT_ALLOWED: "invalid_request_error",
    Code.BODY_TIMEOUT: "invalid_request_error",
    Code.PAYLOAD_TOO_LARGE: "request_too_large",
    Code.CLIENT_CONCURRENCY_EXHAUSTED: "rate_limit_error",
    Code.SERVICE_UNAVAILABLE: "overloaded_error",
    Code.ADMISSION_TIMEOUT: "overloaded_error",
    Code.SERVER_BUSY: "overloaded_error",
    Code.SHUTTING_DOWN: "overloaded_error",
    Code.TIER_FAILED: "overloaded_error",
    Code.STARTUP_TIMEOUT: "timeout_error",
    Code.IDLE_TIMEOUT: "timeout_error",
    Code.REQUEST_TIMEOUT: "timeout_error",
    Code.CONNECT_TIMEOUT: "timeout_error",
    Code.UPSTREAM_TIMEOUT: "timeout_error",
    Code.UPSTREAM_ERROR: "api_error",
    Code.UPSTREAM_REFUSED: "invalid_request_error",
    Code.UPSTREAM_RATE_LIMITED: "rate_limit_error",
    Code.UPSTREAM_OVERLOADED: "overloaded_error",
    Code.HISTORY_UNAVAILABLE: "api_error",
    Code.INTERNAL_ERROR: "api_error",
})
_BY_STATUS: Mapping[int, str] = MappingProxyType({
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",  # also where the operator chose this status
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
})
_TOO_LONG = "prompt is too long"


def error_type(what: Problem) -> str:
    """Anthropic's word for a problem."""
    return _BY_STATUS.get(what.status) or _TYPES[what.code]


def render_problem(what: Problem) -> bytes:
    """Anthropic's error body.

    Clients compact a conversation when they read that the prompt is too long, by as much as they
    are told. A refused field is named in front, since there is no member for it.
    """
    error = {"type": error_type(what), "message": _message(what)}
    return encode({"type": "error", "error": error})


def error_event(what: Problem) -> bytes:
    """The last event of a stream that failed; no `message_stop` follows it."""
    return b"event: error\ndata: " + render_problem(what) + b"\n\n"


def _message(what: Problem) -> str:
    if what.code is Code.CONTEXT_LENGTH_EXCEEDED:
        over = what.overflow
        if over is None:
            return _TOO_LONG
        return f"{_TOO_LONG}: {over.prompt_tokens} tokens > {over.context_tokens} maximum"
    if what.param is None or f"`{what.param}" in what.message:
        return what.message
    return f"{what.param}: {what.message}"
