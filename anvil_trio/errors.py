"""Every refusal and failure a caller can be told of: one code, one status, fixed words.

No text here is ever built from input, a URL, a key, a name in the topology or an exception (R012).
A `Problem` is a value; each dialect renders it in its own shape. `UpstreamFailed` is the exception
for a reply that broke; it carries a `Problem` and is raised `from None`.
"""

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

__all__ = [
    "Code",
    "Overflow",
    "Problem",
    "UpstreamFailed",
    "problem",
    "retry_after_bounded",
    "status_problem",
]


class Code(StrEnum):
    """Our own vocabulary of what went wrong; the `code` of an OpenAI error body."""

    INVALID_REQUEST = "invalid_request"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    UNSUPPORTED_MEDIA = "unsupported_media"
    UNSUPPORTED_AUDIO_MODE = "unsupported_audio_mode"
    INVALID_TRANSITION = "invalid_transition"
    AUTHENTICATION = "authentication_error"
    SCOPE_DENIED = "authorization_scope_denied"
    MODEL_NOT_FOUND = "model_not_found"
    ROUTE_NOT_FOUND = "route_not_found"
    NOT_FOUND = "not_found"
    ARTIFACT_NOT_FOUND = "artifact_not_found"
    ARTIFACT_RANGE_INVALID = "artifact_range_invalid"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TIMEOUT = "body_timeout"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    CLIENT_CONCURRENCY_EXHAUSTED = "client_concurrency_exhausted"
    SERVICE_UNAVAILABLE = "service_unavailable"
    ADMISSION_TIMEOUT = "admission_timeout"
    SERVER_BUSY = "server_busy"
    SHUTTING_DOWN = "shutting_down"
    TIER_FAILED = "tier_failed"
    MEDIA_UNAVAILABLE = "media_unavailable"
    TRANSITION_FAILED = "transition_failed"
    ACTIVATION_MISMATCH = "activation_digest_mismatch"
    ACTIVATION_INVALID = "activation_config_invalid"
    ACTIVATION_REQUIRES_RESTART = "activation_requires_restart"
    ACTIVATION_FAILED = "activation_failed"
    STARTUP_TIMEOUT = "startup_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    REQUEST_TIMEOUT = "request_timeout"
    CONNECT_TIMEOUT = "connect_timeout"
    UPSTREAM_TIMEOUT = "upstream_timeout"
    UPSTREAM_ERROR = "upstream_error"
    UPSTREAM_REFUSED = "upstream_refused"
    UPSTREAM_RATE_LIMITED = "rate_limited"
    UPSTREAM_OVERLOADED = "overloaded"
    HISTORY_UNAVAILABLE = "history_unavailable"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class Overflow:
    """By how much a prompt is too long, in tokens; some clients compact by just that."""

    prompt_tokens: int
    context_tokens: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One refusal or failure, ready to be rendered by any dialect.

    `type` is OpenAI's family word, `code` ours, `param` a field name of the public API or None.
    `retry_after_s` is 1..60 or None (no header). `overflow` is known of some overflows only.
    """

    status: int
    code: Code
    type: str
    message: str
    param: str | None = None
    retry_after_s: int | None = None
    overflow: Overflow | None = None


class UpstreamFailed(Exception):  # noqa: N818 - named by what happened, as trio does
    """The one attempt on the chosen member broke; nothing is tried again (R009)."""

    def __init__(self, what: Problem) -> None:
        super().__init__(what.code.value)
        self.problem = what


_TABLE: dict[Code, tuple[int, str, str, int | None]] = {
    Code.INVALID_REQUEST: (400, "invalid_request_error", "The request is not valid.", None),
    Code.CONTEXT_LENGTH_EXCEEDED: (
        400,
        "invalid_request_error",
        "The prompt is longer than this model's context.",
        None,
    ),
    Code.UNSUPPORTED_MEDIA: (
        400,
        "invalid_request_error",
        "This model does not take this kind of content.",
        None,
    ),
    Code.UNSUPPORTED_AUDIO_MODE: (
        422,
        "invalid_request_error",
        "Audio is taken whole only: `is_final` must be true.",
        None,
    ),
    Code.INVALID_TRANSITION: (400, "invalid_request_error", "The transition is not valid.", None),
    Code.AUTHENTICATION: (
        401,
        "authentication_error",
        "A valid credential is required: Authorization: Bearer, or x-api-key.",
        None,
    ),
    Code.SCOPE_DENIED: (403, "permission_error", "This credential may not do this.", None),
    Code.MODEL_NOT_FOUND: (
        404,
        "invalid_request_error",
        "The model does not exist here; GET /v1/models lists those that do.",
        None,
    ),
    Code.ROUTE_NOT_FOUND: (
        404,
        "invalid_request_error",
        "The audio route does not exist here.",
        None,
    ),
    Code.NOT_FOUND: (404, "invalid_request_error", "There is nothing at this path.", None),
    Code.ARTIFACT_NOT_FOUND: (404, "invalid_request_error", "There is no such artifact.", None),
    Code.ARTIFACT_RANGE_INVALID: (
        416,
        "invalid_request_error",
        "The range must be one of the form bytes=first-[last] that the artifact has.",
        None,
    ),
    Code.METHOD_NOT_ALLOWED: (
        405,
        "invalid_request_error",
        "This path does not take this method; see the Allow header.",
        None,
    ),
    Code.BODY_TIMEOUT: (408, "invalid_request_error", "The body did not arrive in time.", None),
    Code.PAYLOAD_TOO_LARGE: (413, "invalid_request_error", "The body is too large.", None),
    Code.CLIENT_CONCURRENCY_EXHAUSTED: (
        429,
        "rate_limit_error",
        "This client already has as many requests running as it may.",
        1,
    ),
    Code.SERVICE_UNAVAILABLE: (503, "service_unavailable", "The model is not available now.", 1),
    Code.ADMISSION_TIMEOUT: (503, "service_unavailable", "No place became free in time.", 1),
    Code.SERVER_BUSY: (503, "service_unavailable", "The router is at its limit of requests.", 1),
    Code.SHUTTING_DOWN: (503, "service_unavailable", "The router is shutting down.", 1),
    Code.TIER_FAILED: (503, "service_unavailable", "The model is not available now.", 1),
    Code.MEDIA_UNAVAILABLE: (
        503,
        "service_unavailable",
        "The media service is not available now.",
        1,
    ),
    Code.TRANSITION_FAILED: (
        503,
        "service_unavailable",
        "The transition failed and changed nothing.",
        1,
    ),
    Code.ACTIVATION_MISMATCH: (
        409,
        "invalid_request_error",
        "The router's configuration file does not have this digest.",
        None,
    ),
    Code.ACTIVATION_INVALID: (
        409,
        "invalid_request_error",
        "The router's configuration file is not valid.",
        None,
    ),
    Code.ACTIVATION_REQUIRES_RESTART: (
        409,
        "invalid_request_error",
        "This change takes effect only when the router is restarted.",
        None,
    ),
    Code.ACTIVATION_FAILED: (
        503,
        "service_unavailable",
        "The activation failed and changed nothing.",
        1,
    ),
    Code.STARTUP_TIMEOUT: (
        504,
        "timeout_error",
        "The model did not begin to answer in time.",
        None,
    ),
    Code.IDLE_TIMEOUT: (504, "timeout_error", "The model stopped answering.", None),
    Code.REQUEST_TIMEOUT: (504, "timeout_error", "The request took too long.", None),
    Code.UPSTREAM_TIMEOUT: (504, "timeout_error", "The service took too long to answer.", None),
    Code.CONNECT_TIMEOUT: (504, "timeout_error", "The model could not be reached in time.", None),
    Code.UPSTREAM_ERROR: (502, "api_error", "The model's answer could not be used.", None),
    Code.UPSTREAM_REFUSED: (
        400,
        "invalid_request_error",
        "The model's server refused the request.",
        None,
    ),
    Code.UPSTREAM_RATE_LIMITED: (429, "rate_limit_error", "The model takes no more requests.", 1),
    Code.UPSTREAM_OVERLOADED: (503, "service_unavailable", "The model is overloaded.", 1),
    Code.HISTORY_UNAVAILABLE: (
        503,
        "service_unavailable",
        "The record of earlier requests cannot be read now.",
        1,
    ),
    Code.INTERNAL_ERROR: (
        500,
        "api_error",
        "The router failed; this request was not answered.",
        None,
    ),
}


def retry_after_bounded(seconds: int | None) -> int:
    """A `Retry-After` that is always 1..60 seconds; 1 when unknown."""
    return 1 if seconds is None else min(max(seconds, 1), 60)


def problem(
    code: Code,
    *,
    message: str | None = None,
    param: str | None = None,
    status: int | None = None,
    retry_after_s: int | None = None,
    overflow: Overflow | None = None,
) -> Problem:
    """The problem that `code` stands for.

    `message` replaces the table's words and must be fixed text too; `status` replaces its status
    where the operator chose one (`exhaustion_status`) or the upstream's is kept.
    """
    table_status, kind, words, retry = _TABLE[code]
    if retry is not None:
        retry = retry_after_bounded(retry_after_s)
    return Problem(
        status=table_status if status is None else status,
        code=code,
        type=kind,
        message=words if message is None else message,
        param=param,
        retry_after_s=retry,
        overflow=overflow,
    )


_KEPT_STATUSES = frozenset({400, 413, 415, 422})
_OVERLOADED_STATUSES = frozenset({503, 529})


def status_problem(status: int, retry_after_s: int | None = None) -> Problem:
    """What an upstream's HTTP status, or the code of its error object, means for the caller.

    A refusal of the request keeps its status, a busy engine is passed on with `Retry-After`, and
    all else is the router's 502: above all 401 and 403, which are not about the caller's key.
    """
    if status in _KEPT_STATUSES:
        return problem(Code.UPSTREAM_REFUSED, status=status)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return problem(Code.UPSTREAM_RATE_LIMITED, retry_after_s=retry_after_s)
    if status in _OVERLOADED_STATUSES:
        return problem(Code.UPSTREAM_OVERLOADED, retry_after_s=retry_after_s)
    return problem(Code.UPSTREAM_ERROR)
