"""The words for every refusal of the operation service, and its number where a protocol has one.

No word is built from what was sent; `field` is a parameter's name out of the registry. Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType

from anvil_trio.media.json_rpc import RpcCode, RpcError
from anvil_trio.operations.model import Refusal, RefusalCode
from anvil_trio.views.shape import Shape

__all__ = ["SCOPE_DENIED", "RefusalShown", "a2a_error", "a2a_failure", "show_refusal"]

WORDS: Mapping[RefusalCode, str] = MappingProxyType({
    RefusalCode.UNKNOWN_WORKFLOW: "There is no such workflow.",
    RefusalCode.UNKNOWN_VERSION: "There is no such version of this workflow.",
    RefusalCode.UNKNOWN_QUALITY_PROFILE: "This workflow has no such quality profile.",
    RefusalCode.PARAMETER_REQUIRED: "A required parameter is missing.",
    RefusalCode.PARAMETER_UNKNOWN: "This workflow has no parameter of a name that was given.",
    RefusalCode.PARAMETER_INVALID: "A parameter is not of its kind, or out of its bounds.",
    RefusalCode.PARAMETER_LOCKED: "The quality profile locks a parameter that was given.",
    RefusalCode.IDEMPOTENCY_KEY_INVALID: "The idempotency key is not valid.",
    RefusalCode.IDEMPOTENCY_CONFLICT: "The idempotency key was used with another input.",
    RefusalCode.OPERATION_NOT_FOUND: "There is no such job.",
    RefusalCode.OPERATION_NOT_CANCELABLE: "The job has ended.",
    RefusalCode.OPERATION_NOT_AWAITING_APPROVAL: "The job does not await approval.",
    RefusalCode.ARTIFACT_NOT_FOUND: "There is no such artifact.",
    RefusalCode.BUSY: "The media service takes no more jobs now.",
    RefusalCode.UNAVAILABLE: "The media service is not available now.",
})

_NUMBERS: Mapping[RefusalCode, RpcCode] = MappingProxyType({
    RefusalCode.OPERATION_NOT_FOUND: RpcCode.TASK_NOT_FOUND,
    RefusalCode.OPERATION_NOT_CANCELABLE: RpcCode.TASK_NOT_CANCELABLE,
    RefusalCode.BUSY: RpcCode.REFUSED,
    RefusalCode.UNAVAILABLE: RpcCode.REFUSED,
})
"""A2A's; whatever is not here is about what was sent."""

_DOMAIN = "a2a-protocol.org"
_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_SCOPE_WORDS = "The media scopes of this router do not allow this."
_SCOPE_CODE = "authorization_scope_denied"


class RefusalShown(Shape, frozen=True, kw_only=True):
    """Why a tool did not do what it was asked; nothing has changed."""

    code: str
    message: str
    field: str | None


SCOPE_DENIED = RefusalShown(code=_SCOPE_CODE, message=_SCOPE_WORDS, field=None)
"""What `media_scopes` of the configuration does not give."""


def show_refusal(refusal: Refusal) -> RefusalShown:
    """A refusal as the result of a tool."""
    return RefusalShown(code=refusal.code.value, message=WORDS[refusal.code], field=refusal.field)


def a2a_error(refusal: Refusal) -> RpcError:
    """A refusal as an error of A2A."""
    number = _NUMBERS.get(refusal.code, RpcCode.INVALID_PARAMS)
    shown = show_refusal(refusal)
    return a2a_failure(number, shown.message, shown.code, shown.field)


def a2a_failure(number: RpcCode, message: str, code: str, field: str | None = None) -> RpcError:
    """An error of A2A, whose `data` is a list of details of which each says what it is."""
    metadata = {"code": code} if field is None else {"code": code, "field": field}
    return RpcError(
        number,
        message,
        [
            {
                "@type": _INFO,
                "reason": number.name,
                "domain": _DOMAIN,
                "metadata": {**metadata},
            }
        ],
    )
