"""What an installation asks of a running router; the command line knows how to ask it."""

from typing import Protocol

from anvil_trio.installation.plan import Look

__all__ = ["RouterOrders"]


class RouterOrders(Protocol):
    """One router.

    Everything raises InstallFailed if it refuses, does not answer, or is not there; the failure is
    unsure unless the router has said no.
    """

    async def look(self) -> Look:
        """What it says of itself now."""
        ...

    async def quiesce(self, tier_id: str) -> None:
        """The tier takes no new request from now on, until its process ends at the latest."""
        ...

    async def drain(self, tier_id: str, timeout_s: float) -> bool:
        """Whether nothing runs in the tier any more, before the time is over."""
        ...

    async def readmit(self, tier_id: str) -> bool:
        """Whether the tier is ready, and open."""
        ...

    async def activate(self, sha256: str) -> None:
        """The router's own file, which has this digest, is at work."""
        ...
