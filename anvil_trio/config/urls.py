"""Which endpoint URL may be used for what: each function gives the broken rule's words, or None."""

import ipaddress

from anvil_trio.config.endpoints import Endpoint, EndpointFault, parse_endpoint

__all__ = [
    "LOCALHOST",
    "NO_LOCALHOST",
    "audio_fault",
    "direct_fault",
    "member_fault",
    "normalise_trace_url",
    "origin_fault",
    "router_fault",
    "trace_fault",
]

LOCALHOST = "localhost"
NO_LOCALHOST = "must name an address instead of localhost, which may stand for two"
_AUDIO_HOST = (
    "must be a URL whose host is 127.0.0.1, host.docker.internal or a private IPv4 address"
)
_TRACE_HOST = "must be a URL whose host is a loopback or private IP address"
_NO_BACKSLASH = "must be a URL without a backslash"
_ROUTER = "must be a URL whose host is a loopback or private IP address, without a path"
_ORIGIN = "must be an http or https origin: scheme, host and port, and nothing after them"

_PRIVATE = tuple(
    ipaddress.IPv4Network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
_Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
_AUDIO_NETWORKS: _Networks = (*_PRIVATE, ipaddress.IPv4Network("127.0.0.1/32"))
_TRACE_NETWORKS: _Networks = (
    *_PRIVATE,
    ipaddress.IPv4Network("127.0.0.0/8"),
    ipaddress.IPv6Network("::1/128"),
    ipaddress.IPv6Network("fc00::/7"),
)


def direct_fault(text: str) -> str | None:
    """A tier's or service's one endpoint: all rules of a member's but one, `localhost` is allowed.

    The existing system takes it there (R013), and nothing has to be told apart from it.
    """
    found = parse_endpoint(text)
    return found.value if isinstance(found, EndpointFault) else None


def member_fault(text: str) -> str | None:
    """A replica's endpoint (R003); `localhost` is refused.

    It may stand for 127.0.0.1 and for ::1, so that only a resolver could tell whether two members
    are one endpoint.
    """
    found = parse_endpoint(text)
    if isinstance(found, EndpointFault):
        return found.value
    return NO_LOCALHOST if found.host == LOCALHOST else None


def audio_fault(text: str) -> str | None:
    """An audio route's endpoint: the host is one of two names for this machine, or private."""
    found = parse_endpoint(text)
    if isinstance(found, EndpointFault):
        return found.value
    if found.host == "host.docker.internal" or _is_in(found.host, _AUDIO_NETWORKS):
        return None
    return _AUDIO_HOST


def trace_fault(text: str) -> str | None:
    """A trace collector: the host is a literal address on this machine or a private network."""
    if "\\" in text:
        return _NO_BACKSLASH
    found = parse_endpoint(text)
    if isinstance(found, EndpointFault):
        return found.value
    return None if _is_in(found.host, _TRACE_NETWORKS) else _TRACE_HOST


def normalise_trace_url(text: str) -> str:
    """`text`, which has no fault as a trace collector, with `/v1/traces` for an empty path."""
    found = parse_endpoint(text)
    assert isinstance(found, Endpoint)
    return text if found.path else f"{text.rstrip('/')}/v1/traces"


def origin_fault(text: str) -> str | None:
    """A web origin, as browsers send it."""
    found = parse_endpoint(text)
    if isinstance(found, EndpointFault):
        return found.value
    return _ORIGIN if found.path or text.endswith("/") else None


def router_fault(text: str) -> str | None:
    """A router that a command may be sent to: a literal address near by, and no path."""
    found = parse_endpoint(text)
    if isinstance(found, EndpointFault):
        return found.value
    return None if not found.path and _is_in(found.host, _TRACE_NETWORKS) else _ROUTER


def _is_in(host: str, networks: _Networks) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in networks)
