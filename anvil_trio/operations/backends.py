"""Which backend the settings ask for."""

from typing import Protocol

from anvil_trio.config.media import MediaSettings
from anvil_trio.operations.aside import Threads
from anvil_trio.operations.backend import Backend
from anvil_trio.operations.comfyui import ComfyUi
from anvil_trio.operations.demo_backend import DemoBackend
from anvil_trio.upstream.stream import UpstreamTransport

__all__ = ["make_backend"]

_KEEPALIVE_S = 4.0
_DRAWN_AT_ONCE = 1


class _MakeTransport(Protocol):
    """Makes the way to the server at one base URL."""

    def __call__(self, base_url: str, *, keepalive_s: float) -> UpstreamTransport:
        """No connection is made yet."""
        ...


def make_backend(settings: MediaSettings, make_transport: _MakeTransport) -> Backend:
    """ComfyUI at its URL, or the embedded one; nothing is connected yet."""
    url = settings.backend_url
    if url is None:
        return DemoBackend(Threads(_DRAWN_AT_ONCE))
    return ComfyUi(url, make_transport(url, keepalive_s=_KEEPALIVE_S))
