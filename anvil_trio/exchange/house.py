"""What counts and lives as long as the process: it is opened once and outlives every generation."""

from collections.abc import Callable
from dataclasses import dataclass, field

from anvil_trio.actors.bus import Bus
from anvil_trio.admission.actor import AdmissionHandle
from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.decisions.events import Event
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.exchange.active import show_running
from anvil_trio.exchange.subscribers import Subscribers
from anvil_trio.exchange.watch import Watch
from anvil_trio.facts import ActiveRequest
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.meters.board import Meters
from anvil_trio.names import MemberId, TierId
from anvil_trio.operations.interface import Operations
from anvil_trio.tiers.registry import Tiers
from anvil_trio.upstream.client import Upstream

__all__ = ["Exchanges", "House", "Management"]

_MAX_FOLLOWERS = 8
"""How many may follow a task at once, or wait for its end: half of the protocols' places."""


class Exchanges:
    """The exchanges that run now, so that a shutdown's end can reach them, and a page show them."""

    def __init__(self) -> None:
        self._running: dict[Watch, RecordBuilder] = {}  # in order of arrival: a seed is a program

    def __len__(self) -> int:
        return len(self._running)

    def began(self, watch: Watch, record: RecordBuilder) -> None:
        """Count one exchange, until `ended`."""
        self._running[watch] = record

    def ended(self, watch: Watch) -> None:
        """Forget it."""
        del self._running[watch]

    def seen(self, now: float) -> list[ActiveRequest]:
        """Each of them as it is at `now`, oldest first."""
        return [show_running(record, watch, now) for watch, record in self._running.items()]

    def shut_down(self) -> None:
        """Cut every running exchange: each tells its caller so in its dialect's own frame."""
        for watch in tuple(self._running):
            watch.shut_down()


@dataclass(frozen=True, slots=True)
class Management:
    """What an operator's orders go through: never the places of requests, so never a full house.

    `places` bounds the orders that are carried out at once, `drains` those that wait for a drain:
    to fewer, so that however many wait, what they wait for can be readmitted. `changes` bounds
    those that change anything: to one, so that what is saved, and told to the actors, has one
    order.
    """

    places: AdmissionHandle
    drains: AdmissionHandle
    changes: AdmissionHandle
    intents: IntentKeeper


@dataclass(slots=True)
class House:
    """The actors, the record and the running exchanges of one process.

    `ways` leads to each member as the newest configuration has it; one that a configuration leaves
    out keeps its way until its tier is closed, for whoever was given it before.

    `is_draining` is true from the moment of a stop; `/healthz` says so (decision 25).
    """

    admission: AdmissionHandle
    counts: AdmissionHandle  # questions to engines how many tokens a request has
    audio: AdmissionHandle  # requests to speech services, beside the front door's place of each
    protocols: AdmissionHandle  # requests of MCP, A2A and for artifacts: never a chat place
    management: Management
    tiers: Tiers
    log: DecisionLog
    bus: Bus[Event]
    meters: Meters
    wall_clock: Callable[[], float]  # seconds since the epoch
    started_at: float  # likewise
    ways: dict[TierId, dict[MemberId, Upstream]] = field(default_factory=dict)
    exchanges: Exchanges = field(default_factory=Exchanges)
    subscribers: Subscribers = field(default_factory=Subscribers)
    followers: Subscribers = field(default_factory=lambda: Subscribers(_MAX_FOLLOWERS))  # of tasks
    operations: Operations | None = None  # None where no media workflows are configured
    is_draining: bool = False

    def drain(self) -> None:
        """The process is about to stop: say so, and send away whoever only watches. Idempotent."""
        if not self.is_draining:
            log_event(LogEvent.DRAINING)
        self.is_draining = True
        self.subscribers.end()
        self.followers.end()
