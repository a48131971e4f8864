"""Cross-origin requests: what browsers are told so that a listed origin's pages may call us.

For plain requests nothing here is a guard: one of any origin, or of none, still needs its
credential, and browsers keep the reply from pages that may not read it. Cookies are no credentials
here, so `Access-Control-Allow-Credentials` is never sent. A WebSocket no browser keeps from anyone,
so there the origin is checked.
"""

import ipaddress
import re
from collections.abc import Iterable

from anvil_trio.web.asgi_types import Headers, Message, Send

__all__ = ["Cors"]

_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}
_METHODS = b"GET, HEAD, POST"
_HEADER_NAMES = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,4096}")
_HOST = re.compile(rb"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?")
_EXPOSED = b", ".join([
    b"Retry-After",
    b"Warning",
    b"X-Anvil-Max-Tokens-Applied",
    b"X-Anvil-Max-Tokens-Requested",
    b"X-Anvil-Request-Id",
    b"X-Anvil-Token-Count",
    b"X-Anvil-Warning",
    b"X-Request-Id",
])
_LASTS_S = b"600"


class Cors:
    """The origins of `cors_origins`. Where there are none, the default, nothing is ever said."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(_normal(origin.encode()) for origin in origins)

    def preflight(self, method: str, headers: Headers) -> Headers | None:
        """The headers that permit what a browser asks about; None if this is no such question.

        The same for every path, so that a page which holds no key learns none.
        """
        if method != "OPTIONS" or _value(headers, b"access-control-request-method") is None:
            return None
        origin = self._allowed(headers)
        if origin is None:
            return None
        asked = _value(headers, b"access-control-request-headers") or b""
        names = [(b"access-control-allow-headers", asked)] if _HEADER_NAMES.fullmatch(asked) else []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", _METHODS),
            *names,
            (b"access-control-max-age", _LASTS_S),
            (b"vary", b"Origin, Access-Control-Request-Headers"),
        ]

    def wrapped(self, headers: Headers, send: Send) -> Send:
        """A `send` whose replies say whether this request's origin may read them."""
        more: Headers = [(b"vary", b"Origin")]
        origin = self._allowed(headers)
        if origin is not None:
            more.append((b"access-control-allow-origin", origin))
            more.append((b"access-control-expose-headers", _EXPOSED))

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = message["headers"]
                assert isinstance(sent, list)
                message = {**message, "headers": [*sent, *more]}
            await send(message)

        return told

    def admits(self, headers: Headers) -> bool:
        """Whether a WebSocket may be opened: by no page, by one of a listed origin, or by our own.

        Our own is one of the very address that was asked. A name does not count: whoever owns it
        can let it point here.
        """
        origin = _value(headers, b"origin")
        if origin is None or self._allowed(headers) is not None:
            return True
        host = _value(headers, b"host") or b""
        own = (b"http://" + host, b"https://" + host)
        return _is_address(host) and _normal(origin) in {_normal(each) for each in own}

    def _allowed(self, headers: Headers) -> bytes | None:
        origin = _value(headers, b"origin")
        return origin if origin is not None and _normal(origin) in self._origins else None


def _normal(origin: bytes) -> bytes:
    """An origin as browsers send it: in lower case, without its scheme's own port."""
    origin = origin.lower()
    return origin.removesuffix(_DEFAULT_PORTS.get(origin.partition(b":")[0], b":"))


def _is_address(host: bytes) -> bool:
    """Whether a `Host` is a literal IP address, with or without a port."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    try:
        ipaddress.ip_address((found[1] or found[2]).decode())
    except ValueError:
        return False
    return True


def _value(headers: Headers, name: bytes) -> bytes | None:
    return next((value.strip() for key, value in headers if key == name), None)
