"""The normal form of an endpoint URL, and with it when two URLs are the same. Nothing is resolved.

The host of the normal form is the one that httpx will connect to: international names are encoded
by the same IDNA 2008 library.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

import idna

__all__ = ["MAX_URL_CHARS", "Endpoint", "EndpointFault", "parse_endpoint"]

MAX_URL_CHARS = 2048
"""httpx refuses URLs above 65,536 characters when they are used; we do so long before."""


class EndpointFault(StrEnum):
    """The rules of an endpoint URL in the order in which they are tried, in the words of errors."""

    BLANKS = "must be a URL without blanks and control characters"
    LENGTH = f"must be a URL of at most {MAX_URL_CHARS} characters"
    QUERY = "must be a URL without ? and #"
    SCHEME = "must be a URL that begins with http:// or https://"
    USERINFO = "must be a URL without credentials"
    HOST = "must be a URL whose host is an IP address or a DNS name"
    PORT = "must be a URL whose port is 1 to 65535, or that has none"


_URL = re.compile(r"(https?)://([^/]*)(.*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::([0-9]{1,5}))?")
_BROKEN_PORT = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]+):[^:]*")
_NUMERIC_HOST = re.compile(r"(?:0x[0-9a-f]*|[0-9]*)(?:\.(?:0x[0-9a-f]*|[0-9]*))*")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_MAX_NAME_CHARS = 253
_MAX_PORT = 65_535
_DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The normal form of a URL: equal for two URLs exactly when they name one endpoint.

    `host` is an IP address in canonical text, without brackets, or a lower-case IDNA name without
    its final dot. `path` is byte-exact, but for the `/` at its end.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """The normal form as a URL; its own normal form is this one again."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def parse_endpoint(text: str) -> Endpoint | EndpointFault:
    """The normal form of `text`, or the first rule that it breaks."""
    fault = _text_fault(text)
    if fault is not None:
        return fault
    url = _URL.fullmatch(text)
    if url is None:
        return EndpointFault.SCHEME
    scheme, authority, path = url[1].lower(), url[2], url[3].rstrip("/")
    if "@" in authority:
        return EndpointFault.USERINFO
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        return EndpointFault.PORT if _BROKEN_PORT.fullmatch(authority) else EndpointFault.HOST
    host = _ipv4_or_name(parts[2]) if parts[1] is None else _ipv6(parts[1])
    if host is None:
        return EndpointFault.HOST
    port = _DEFAULT_PORT[scheme] if parts[3] is None else int(parts[3])
    return Endpoint(scheme, host, port, path) if 1 <= port <= _MAX_PORT else EndpointFault.PORT


def _text_fault(text: str) -> EndpointFault | None:
    if any(char.isspace() or unicodedata.category(char) == "Cc" for char in text):
        return EndpointFault.BLANKS
    if len(text) > MAX_URL_CHARS:
        return EndpointFault.LENGTH
    return EndpointFault.QUERY if "?" in text or "#" in text else None


def _ipv6(literal: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(literal)
    except ValueError:
        return None
    # A zone (`fe80::1%eth0`) means something on one machine only, and httpx does not take it.
    return str(address) if address.scope_id is None else None


def _ipv4_or_name(host: str) -> str | None:
    try:
        name = host.lower() if host.isascii() else idna.encode(host.lower()).decode("ascii")
    except UnicodeError:
        return None
    if not _NUMERIC_HOST.fullmatch(name):
        return _dns_name(name.removesuffix("."))
    # `127.1`, `010.0.0.1` and `0x7f.1` are addresses to some resolvers and names to others.
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        return None


def _dns_name(name: str) -> str | None:
    is_name = all(_LABEL.fullmatch(label) for label in name.split("."))
    return name if is_name and len(name) <= _MAX_NAME_CHARS else None
