"""The right to use one member once."""

from collections.abc import Callable

from anvil_trio.actors.held import Held
from anvil_trio.actors.messages import Release, Ticket
from anvil_trio.facts import Schedule
from anvil_trio.names import MemberId

__all__ = ["Lease"]


class Lease(Held):
    """R009: one place on one member, held inside `with` and given back exactly once.

    `schedule` says how the member was chosen, where more than its turn had a say.
    """

    __slots__ = ("member_id", "schedule")

    def __init__(
        self,
        ticket: Ticket,
        member_id: MemberId,
        tell: Callable[[Release], None],
        schedule: Schedule | None = None,
    ) -> None:
        super().__init__(ticket, tell)
        self.member_id = member_id
        self.schedule = schedule
