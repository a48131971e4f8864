"""The services of one configuration, with the way to each. No connection is made yet."""

from typing import Protocol

import httpx

from anvil_trio.config.model import AudioRoute, PurposeModel, RouterConfig
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.words import RequestKind
from anvil_trio.exchange.services import Service, Services
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.names import DIRECT_MEMBER
from anvil_trio.upstream.client import Upstream
from anvil_trio.upstream.stream import UpstreamTransport

__all__ = ["TIMEOUT_S", "open_services"]

TIMEOUT_S = 60.0
"""How long a service without a `timeout` of its own is waited for."""

_KEEPALIVE_S = 4.0  # as a tier's default


class MakeWay(Protocol):
    """Makes the way to the engine at one base URL."""

    def __call__(self, base_url: str, *, keepalive_s: float) -> UpstreamTransport:
        """No connection is made yet."""
        ...


def open_services(
    config: RouterConfig, secrets: Secrets, make_transport: MakeWay
) -> tuple[Services, list[UpstreamTransport]]:
    """All services whose key is known, and their transports, which the caller closes.

    One whose variable is named and not set is left out: without its key it could only be refused.
    An event line says so.
    """
    found, transports = list[Service](), list[UpstreamTransport]()
    for each in config.services:
        key = None if each.auth_env is None else secrets.get(each.auth_env)
        if each.auth_env is not None and not key:
            log_event(LogEvent.SERVICE_SKIPPED, service=each.id)
            continue
        transport = make_transport(each.base_url, keepalive_s=_KEEPALIVE_S)
        transports.append(transport)
        timeout_s = each.timeout or TIMEOUT_S
        upstream = Upstream(
            member_id=DIRECT_MEMBER,
            url=httpx.URL(each.base_url),
            transport=transport,
            key=key,
            connect_timeout_s=timeout_s,
            max_reply_bytes=config.server.max_body_bytes,
        )
        found.append(
            _purpose(each, upstream, timeout_s)
            if isinstance(each, PurposeModel)
            else _audio(each, upstream, timeout_s)
        )
    return Services(found), transports


def _purpose(model: PurposeModel, upstream: Upstream, timeout_s: float) -> Service:
    return Service(
        id=model.id,
        kind=RequestKind(model.kind),
        name=model.model,
        model=model.model,
        base_url=model.base_url,
        upstream=upstream,
        timeout_s=timeout_s,
    )


def _audio(route: AudioRoute, upstream: Upstream, timeout_s: float) -> Service:
    return Service(
        id=route.id,
        kind=RequestKind(route.purpose),
        name=route.id,
        model=route.model,
        base_url=route.base_url,
        upstream=upstream,
        timeout_s=timeout_s,
        sample_rate=route.source_sample_rate,
        is_default=route.default,
    )
