"""What a request's head must be, beyond what the parser has checked. Pure.

llhttp knows the grammar; what a head means, and which heads may not be understood in two ways, is
decided here: one Host, one framing, one final coding, a target whose path is certain.
"""

import re
from urllib.parse import unquote

import msgspec

__all__ = ["Headers", "RequestHead", "check_head"]

Headers = list[tuple[bytes, bytes]]

_METHODS_FOR_ALL = frozenset({b"OPTIONS"})  # whose target may be `*`
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?@]+)([/?].*)?")
_RARE = frozenset({b"connection", b"expect", b"transfer-encoding", b"upgrade"})


class RequestHead(msgspec.Struct, frozen=True):
    """One request's head, as an application sees it: names in lower case, values trimmed.

    `raw_path` and `query` are as they came, `path` is decoded. `is_websocket`: what follows the
    head is a WebSocket's and no request's.
    """

    method: str
    version: str
    path: str
    raw_path: bytes
    query: bytes
    headers: Headers
    expects_continue: bool
    is_websocket: bool

    def __repr__(self) -> str:
        """Nothing that was asked."""
        return "RequestHead()"


class _Notes:
    """What the headers say that matters to the connection."""

    __slots__ = ("codings", "expects", "hosts", "is_framed", "is_upgrade", "upgrades")

    def __init__(self, headers: Headers) -> None:
        self.hosts = 0
        self.codings: list[bytes] = []
        self.is_framed = self.expects = self.is_upgrade = False
        self.upgrades: list[bytes] = []
        for name, value in headers:
            if name == b"host":
                self.hosts += 1
            elif name == b"content-length":
                self.is_framed = True
            elif name in _RARE:
                self._note(name, value.lower())

    def _note(self, name: bytes, said: bytes) -> None:
        if name == b"transfer-encoding":
            self.is_framed = True
            self.codings.append(said)
        elif name == b"expect":
            self.expects = said == b"100-continue"
        elif name == b"upgrade":
            self.upgrades.append(said)
        elif b"upgrade" in said:
            tokens = [token.strip() for token in said.split(b",")]
            self.is_upgrade = self.is_upgrade or b"upgrade" in tokens


def check_head(method: bytes, target: bytes, version: str, headers: Headers) -> RequestHead | None:
    """The head, if there is one way only to understand it; None: it is refused with a 400.

    The Host of a target in absolute form takes the place of the header's (RFC 9112, 3.2.2).
    """
    notes = _Notes(headers)
    if not _is_certain(method, version, notes):
        return None
    if not target.startswith(b"/"):
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is not None:
            host, target = absolute.group(1), absolute.group(2) or b"/"
            headers = [one for one in headers if one[0] != b"host"]
            headers.insert(0, (b"host", host))
            if not target.startswith(b"/"):
                target = b"/" + target
        elif target != b"*" or method not in _METHODS_FOR_ALL:
            return None
    if b"#" in target or not target.isascii():
        return None
    is_modern = version == "1.1"
    raw_path, _, query = target.partition(b"?")
    path = raw_path.decode("ascii")
    is_websocket = (
        is_modern and notes.is_upgrade and notes.upgrades == [b"websocket"] and method == b"GET"
    )
    if is_websocket and (notes.is_framed or not _is_plain(headers)):
        return None  # its body would be taken for frames; its words are read as ASCII
    return RequestHead(
        method.decode("ascii"),
        version,
        unquote(path) if "%" in path else path,
        raw_path,
        query,
        headers,
        notes.expects and is_modern,
        is_websocket,
    )


def _is_plain(headers: Headers) -> bool:
    """Whether what is said of the WebSocket is ASCII."""
    return all(
        value.isascii()
        for name, value in headers
        if name == b"connection" or name.startswith(b"sec-websocket-")
    )


def _is_certain(method: bytes, version: str, notes: _Notes) -> bool:
    """Whether host, framing and version leave no second reading. HTTP/1.0 has no codings."""
    if method == b"CONNECT":
        return False
    if version == "1.1":
        return notes.hosts == 1 and notes.codings in ([], [b"chunked"])
    return version == "1.0" and notes.hosts <= 1 and not notes.codings
