"""The kinds of value that a topology has, beside those that it shares with a configuration."""

import ipaddress
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from anvil_trio.config.endpoints import EndpointFault, parse_endpoint
from anvil_trio.config.kinds import kind, must
from anvil_trio.config.urls import LOCALHOST, NO_LOCALHOST
from anvil_trio.topology.problems import TopologyCode

__all__ = [
    "CODE_OF_WORDS",
    "SSH",
    "Address",
    "Fingerprint",
    "GpuUuid",
    "HostReference",
    "Name",
    "Names",
    "ResourceUrl",
    "RuntimeReference",
    "TransportUrl",
    "Version",
]

SSH = "ssh"

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
_GPU_UUID = re.compile(r"GPU-[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_SSH_URL = re.compile(r"ssh(?=://)", re.IGNORECASE)

_VERSION = "must be 1"
_URL = "must be a URL"
_ADDRESS = "must be an IP address or a DNS name"

CODE_OF_WORDS: Mapping[str, TopologyCode] = MappingProxyType({
    _VERSION: TopologyCode.VERSION,
    _URL: TopologyCode.URL,
    _ADDRESS: TopologyCode.HOST,
    NO_LOCALHOST: TopologyCode.LOCALHOST,
    EndpointFault.BLANKS.value: TopologyCode.URL,
    EndpointFault.LENGTH.value: TopologyCode.URL,
    EndpointFault.SCHEME.value: TopologyCode.URL,
    EndpointFault.USERINFO.value: TopologyCode.CREDENTIAL,
    EndpointFault.HOST.value: TopologyCode.HOST,
    EndpointFault.PORT.value: TopologyCode.PORT,
    "must be a table": TopologyCode.TYPE,
    "must be an array of tables": TopologyCode.TYPE,
})
"""The code of a broken rule by its words; any other words are a `value`."""


def _is_version(number: int) -> bool:
    return number == 1


def _is_name(text: str) -> bool:
    return re.fullmatch(_NAME, text) is not None


def _are_names(names: tuple[str, ...]) -> bool:
    return len(set(names)) == len(names) and all(map(_is_name, names))


def _is_host_reference(text: str) -> bool:
    return re.fullmatch(f"host:{_NAME}", text) is not None


def _is_runtime_reference(text: str) -> bool:
    return re.fullmatch(f"runtime:{_NAME}", text) is not None


def _is_gpu_uuid(text: str) -> bool:
    return _GPU_UUID.fullmatch(text) is not None


def _is_fingerprint(text: str) -> bool:
    return _FINGERPRINT.fullmatch(text) is not None


def _url_fault(text: str) -> str | None:
    """The rules of a member's endpoint but one: what is not a replica may have a query.

    A replica's resource that has one is found by the join, which compares normal forms.
    """
    found = parse_endpoint(re.split(r"[?#]", text, maxsplit=1)[0])
    if isinstance(found, EndpointFault):
        return found.value
    return NO_LOCALHOST if found.host == LOCALHOST else None


def _transport_fault(text: str) -> str | None:
    return _url_fault(_SSH_URL.sub("http", text, count=1) if _SSH_URL.match(text) else text)


def _address_fault(text: str) -> str | None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _name_fault(text)
    return None


def _name_fault(text: str) -> str | None:
    found = parse_endpoint(f"http://{text}")
    if isinstance(found, EndpointFault) or re.search(r"[:/\[]", text):
        return _ADDRESS
    return NO_LOCALHOST if found.host == LOCALHOST else None


Version = Annotated[int, must(_VERSION, _is_version)]
Name = Annotated[str, must(f"must match {_NAME}", _is_name)]
Names = Annotated[
    tuple[str, ...], must(f"must be an array of different names that match {_NAME}", _are_names)
]
HostReference = Annotated[str, must(f"must match host:{_NAME}", _is_host_reference)]
RuntimeReference = Annotated[str, must(f"must match runtime:{_NAME}", _is_runtime_reference)]
GpuUuid = Annotated[str, must("must be GPU- and a UUID", _is_gpu_uuid)]
Fingerprint = Annotated[
    str,
    must("must be SHA256: and 43 characters of base64, as ssh-keygen -l shows", _is_fingerprint),
]
Address = Annotated[str, kind(_ADDRESS, _address_fault)]
ResourceUrl = Annotated[str, kind(_URL, _url_fault)]
TransportUrl = Annotated[str, kind(_URL, _transport_fault)]
