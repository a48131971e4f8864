"""The right of one request to be inside."""

from anvil_trio.actors.held import Held

__all__ = ["Permit"]


class Permit(Held):
    """One place among `max_concurrency`, held inside `with` and given back exactly once."""
