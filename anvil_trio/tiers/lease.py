"""The right to use one member once."""

from anvil_trio.actors.held import Held
from anvil_trio.facts import Schedule
from anvil_trio.names import MemberId

__all__ = ["Lease"]


class Lease(Held):
    """R009: one place on one member, held inside `with` and given back exactly once.

    `schedule` says how the member was chosen, where more than its turn had a say.
    """

    member_id: MemberId
    schedule: Schedule | None = None
