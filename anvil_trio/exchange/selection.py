"""An exchange that takes place on one member of one tier: chat requests and sessions."""

from abc import abstractmethod

from anvil_trio.actors.messages import Refused
from anvil_trio.exchange.closing import Closing, not_admitted
from anvil_trio.exchange.frame import Asking, Exchange
from anvil_trio.exchange.generation import Route
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.phases import Phase
from anvil_trio.names import MemberId

__all__ = ["MemberExchange"]


class MemberExchange(Exchange[Asking]):
    """One lease on one member (R009), held from here to the end of the one attempt."""

    async def _select(self, route: Route) -> Closing:
        """The attempt on whichever member is had within the admission deadline.

        A grant that comes in the very step of its expiry is given back: life is over.
        """
        watch, record = self._watch, self._record
        record.asked_at = watch.begin()
        watch.journey.reach(Phase.WAITING)
        session_id = self._call.session_for(route.tier)
        try:
            got = await route.handle.acquire(self._call.client_id, session_id)
        finally:
            record.answered_at = now = self._watch.now()
        if isinstance(got, Refused):
            return self._not_admitted(got)
        with got as lease:
            if watch.is_over(now):
                return self._cut()
            watch.journey.reach(Phase.CHOSEN)
            record.selected(lease.member_id, now, lease.schedule)
            return await self._attempt(route, lease.member_id)

    @abstractmethod
    async def _attempt(self, route: Route, member_id: MemberId) -> Closing:
        """The one attempt on the one member (R009): nothing here is ever tried again.

        `life` is still bounded by the wait for a member, until `watch.chosen` is called.
        """
        ...

    def _not_admitted(self, refused: Refused) -> Closing:
        return not_admitted(refused, self._generation.config.router.exhaustion_status)

    def _gave_back(self, outcome: Outcome) -> None:
        self._watch.journey.end(outcome)
