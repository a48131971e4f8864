"""What went wrong outside a message, as JSON-RPC tells it: too large, too many, stopped. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from anvil_trio.errors import Code, Problem
from anvil_trio.media.json_rpc import INTERNAL, RpcCode, RpcError

__all__ = ["error_of"]

_NUMBERS: Mapping[Code, RpcCode] = MappingProxyType({
    Code.PAYLOAD_TOO_LARGE: RpcCode.INVALID_REQUEST,
    Code.BODY_TIMEOUT: RpcCode.INVALID_REQUEST,
    Code.SCOPE_DENIED: RpcCode.REFUSED,
    Code.SERVER_BUSY: RpcCode.REFUSED,
    Code.SHUTTING_DOWN: RpcCode.REFUSED,
    Code.REQUEST_TIMEOUT: RpcCode.REFUSED,
})


def error_of(what: Problem) -> RpcError:
    """The error of a problem; whatever has no number of its own is our own failure."""
    number = _NUMBERS.get(what.code)
    if number is None:
        return INTERNAL
    return RpcError(number, what.message, {"code": what.code.value})
