"""Cross-origin requests: what browsers are told so that a listed origin's pages may call us.

Nothing here is a guard: a request of any origin, or of none, still needs its credential. Cookies
are no credentials here, so `Access-Control-Allow-Credentials` is never sent.
"""

import re
from collections.abc import Iterable

from anvil_trio.web.asgi_types import Headers, Message, Send

__all__ = ["Cors"]

_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}
_METHODS = b"GET, HEAD, POST"
_HEADER_NAMES = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,4096}")
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
    """The origins of `cors_origins`; none of them, the default, means that nothing is ever said."""

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
        if not self._origins:
            return send
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

    def _allowed(self, headers: Headers) -> bytes | None:
        origin = _value(headers, b"origin")
        return origin if origin is not None and _normal(origin) in self._origins else None


def _normal(origin: bytes) -> bytes:
    """An origin as browsers send it: in lower case, without its scheme's own port."""
    origin = origin.lower()
    return origin.removesuffix(_DEFAULT_PORTS.get(origin.partition(b":")[0], b":"))


def _value(headers: Headers, name: bytes) -> bytes | None:
    return next((value.strip() for key, value in headers if key == name), None)
