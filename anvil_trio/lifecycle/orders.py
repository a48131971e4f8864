"""What a switch asks of a running router; the command line knows how to ask it."""

from typing import Protocol

__all__ = ["RouterOrders"]


class RouterOrders(Protocol):
    """One router. Everything raises LifecycleFailed if the router refuses or does not answer."""

    async def installed(self) -> str | None:
        """The sha256 of the configuration at work; None if nobody listens where it should be."""
        ...

    async def quiesce(self, tier: str, reason: str) -> None:
        """The tier takes no new request from now on."""
        ...

    async def drain(self, tier: str, timeout_s: float) -> bool:
        """Whether nothing runs in the tier any more, before the time is over."""
        ...

    async def readmit(self, tier: str) -> bool:
        """Whether the tier proved anew that it is ready, and is open again."""
        ...

    async def activate(self, sha256: str) -> None:
        """The router's own file, which has this digest, is at work."""
        ...
