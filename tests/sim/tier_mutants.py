"""Bugs on purpose in tier, front door and what they stand on. Each was once somebody's idea."""

from tests.sim.door_mutants import DOOR
from tests.sim.ranking_mutants import RANKING_MUTANTS
from tests.support.mutants import Mutant, Suite

__all__ = ["TIER"]

REPLY = "anvil_trio.actors.reply"
CALLER = "anvil_trio.actors.caller"
MAILBOX = "anvil_trio.actors.mailbox"
ACTOR = "anvil_trio.actors.actor"
HELD = "anvil_trio.actors.held"
LEDGER = "anvil_trio.actors.ledger"
STATE = "anvil_trio.tiers.state"
LINE = "anvil_trio.tiers.line"
MEMBERS = "anvil_trio.tiers.members"
FENCED = "anvil_trio.tiers.fenced"
TIER_ACTOR = "anvil_trio.tiers.actor"

SLOT = (
    Mutant(
        "slot on an Event without hand-back",
        CALLER,
        "from anvil_trio.actors.reply import ReplySlot",
        "from tests.sim.event_slot import EventSlot as ReplySlot",
    ),
    Mutant(
        "slot with a checkpoint before it parks",
        REPLY,
        "        self._task = trio.lowlevel.current_task()\n",
        "        await trio.lowlevel.checkpoint()\n"
        "        self._task = trio.lowlevel.current_task()\n",
    ),
    Mutant(
        "slot with a checkpoint after it was filled",
        REPLY,
        "        return reply\n",
        "        await trio.lowlevel.checkpoint()\n        return reply\n",
    ),
    Mutant("slot that abandons in silence", REPLY, "        self._on_abandon()\n", ""),
)

WITHDRAW = (
    Mutant("withdrawal never posted", CALLER, "        self.tell(Withdraw(ticket))\n", ""),
    Mutant("withdrawal not known until it is read", MAILBOX, ".add(message.ticket)", ".copy()"),
    Mutant("withdrawal known for ever", MAILBOX, ".discard(message.ticket)", ".copy()"),
    Mutant(
        "withdrawn waiter keeps its place",
        STATE,
        "                self._line.leave(ticket)\n",
        "",
    ),
    Mutant(
        "withdrawn drain is answered",
        STATE,
        "                self._drains.pop(ticket, None)\n",
        "",
    ),
    Mutant(
        "withdrawn waiter is granted",
        LINE,
        "            if asked.ticket not in self._withdrawn:\n",
        "            if True:\n",
    ),
    Mutant(
        "withdrawn question is granted",
        STATE,
        "        if ticket in self._withdrawn:\n            return ()\n",
        "",
    ),
    Mutant(
        "grant that meets nobody is dropped",
        CALLER,
        "        elif isinstance(reply, self._grant):\n            self.tell(Release(ticket))\n",
        "",
    ),
)

LEASE = (
    Mutant(
        "lease released twice", HELD, "tell, self._tell = self._tell, None", "tell = self._tell"
    ),
    Mutant(
        "lease released on the happy path only",
        HELD,
        "    __exit__ = release\n",
        "    def __exit__(self, *exc: object) -> None:\n"
        "        if exc[0] is None:\n"
        "            self.release()\n",
    ),
    Mutant(
        "an await between the grant and its block",
        TIER_ACTOR,
        "            return Lease(ticket,",
        "            import trio\n"
        "            await trio.lowlevel.checkpoint()\n"
        "            return Lease(ticket,",
    ),
    Mutant("lease counted by the tier only", STATE, "        member.active += 1\n", ""),
    Mutant("lease given back to the tier only", MEMBERS, "        member.active -= 1\n", ""),
    Mutant(
        "release serves nobody",
        STATE,
        "give_back(ticket))\n",
        "give_back(ticket))\n                return ()\n",
    ),
)

ORDER = (
    Mutant(
        "first client keeps its turn",
        LINE,
        "                    self._queues.move_to_end(client_id)\n",
        "                    pass\n",
    ),
    Mutant(
        "last come, first served",
        LINE,
        "self.waiting[next(iter(queue))]",
        "self.waiting[next(reversed(queue))]",
    ),
    Mutant(
        "cursor stands still",
        STATE,
        "        self._cursor = member.member_id\n",
        "",
    ),
)

INTENT = (
    Mutant(
        "quiesced tier grants",
        STATE,
        "        if self._is_quiesced or self._is_full:\n",
        "        if self._is_full:\n",
    ),
    Mutant(
        "quiesced tier refuses nobody",
        STATE,
        "        if self._is_quiesced:\n            return Refused(RefusalReason.QUIESCED)\n",
        "",
    ),
    Mutant(
        "quiesced member grants",
        MEMBERS,
        "        return self.is_quiesced or self.is_retired\n",
        "        return self.is_retired\n",
    ),
    Mutant(
        "quiesce of a member is heard later",
        MEMBERS,
        "            member.is_quiesced = is_quiesced\n            self._refresh()\n",
        "            member.is_quiesced = is_quiesced\n",
    ),
    Mutant(
        "drained with leases out",
        STATE,
        "            return not self._leases\n",
        "            return True\n",
    ),
    Mutant("member drained with leases out", STATE, "member is None or not member.active", "True"),
    Mutant(
        "drain of an open tier",
        STATE,
        "            return self._is_quiesced\n",
        "            return True\n",
    ),
    Mutant(
        "drain outlives readmission",
        STATE,
        "            if not self._is_closed(member_id):\n",
        "            if False:\n",
    ),
    Mutant(
        "drain answered again and again",
        STATE,
        "            del self._drains[ticket]\n        return done",
        "            pass\n        return done",
    ),
)

CEILING = (
    Mutant(
        "tier ceiling off by one",
        STATE,
        "len(self._leases) >= self._ceiling",
        "len(self._leases) > self._ceiling",
    ),
    Mutant(
        "member ceiling off by one",
        MEMBERS,
        "self.active < self.ceiling",
        "self.active <= self.ceiling",
    ),
    Mutant(
        "member ceiling not looked at",
        MEMBERS,
        "return self.ceiling is None or self.active < self.ceiling",
        "return True",
    ),
)

READINESS = (
    Mutant("old readiness is believed", STATE, "readiness.generation >= self._generation", "True"),
    Mutant(
        "grant without readiness",
        MEMBERS,
        "        if self._ready is None:\n            return None\n",
        "",
    ),
    Mutant(
        "readiness not judged at the grant",
        MEMBERS,
        "(self._ready is None or member_id in self._ready)",
        "True",
    ),
    Mutant(
        "readiness heard at the next change",
        MEMBERS,
        "        self._ready = ready\n        self._refresh()\n",
        "        self._ready = ready\n",
    ),
    Mutant(
        "waiters kept when the last ready member goes",
        STATE,
        "        if not self._members.admitting:\n",
        "        if False:\n",
    ),
)

OWNER_GONE = (
    Mutant(
        "gone owner keeps its place in line", STATE, "        self._line.leave_all(owner)\n", ""
    ),
    Mutant(
        "gone owner keeps its drains",
        STATE,
        "            del self._drains[ticket]\n\n    def _settle(",
        "            pass\n\n    def _settle(",
    ),
    Mutant("gone owner is heard", LEDGER, "        self.gone.add(owner)\n", ""),
    Mutant(
        "gone owner's members stay taken",
        STATE,
        "            self._members.release(member_id)\n",
        "            pass\n",
    ),
    Mutant(
        "gone owner's callers wait for ever",
        ACTOR,
        "            self._disconnect(message.owner)\n",
        "            pass\n",
    ),
    Mutant(
        "fenced tier answers a gone owner",
        ACTOR,
        "            if endpoint is not None:\n                endpoint.deliver(ticket, reply)",
        "            endpoint.deliver(ticket, reply)",
    ),
)

RECONFIGURE = (
    Mutant(
        "removed member grants",
        MEMBERS,
        "            member.is_retired = member_id not in ceilings\n",
        "",
    ),
    Mutant(
        "removed member forgotten with its leases",
        MEMBERS,
        "            if member.is_retired and not member.active:\n                del",
        "            if member.is_retired:\n                del",
    ),
    Mutant(
        "removed member never disappears",
        MEMBERS,
        "        if member.is_retired and not member.active:\n            del",
        "        if False:\n            del",
    ),
    Mutant(
        "returning member is still ready",
        MEMBERS,
        "            self._ready &= frozenset(ceilings)\n",
        "            pass\n",
    ),
    Mutant(
        "member ceiling never changes",
        MEMBERS,
        "            member.ceiling = ceiling\n",
        "            pass\n",
    ),
    Mutant(
        "tier ceiling never changes",
        STATE,
        "        self._ceiling = message.ceiling\n",
        "",
    ),
    Mutant(
        "readiness of new members is not heard",
        STATE,
        "        if message.readiness is not None:\n            self._hear(message.readiness)\n",
        "",
    ),
    Mutant(
        "reconfigured tier serves nobody",
        STATE,
        "                self._change(message)\n",
        "                self._change(message)\n                return ()\n",
    ),
)

LIFE = (
    Mutant("actor without a shield", ACTOR, "shield=True", "shield=False"),
    Mutant(
        "stopped actor answers nobody",
        ACTOR,
        "                    endpoint.stop()\n\n    def",
        "                    pass\n\n    def",
    ),
    Mutant("stopped actor still takes questions", CALLER, "        self._is_stopped = True\n", ""),
    Mutant(
        "crash answers nobody",
        ACTOR,
        "                self._act(question)\n",
        "                pass\n",
    ),
    Mutant(
        "crash starts afresh",
        TIER_ACTOR,
        "lambda: FencedTier(state.snapshot())",
        "lambda: TierState(tier_id, members, ceiling, mailbox.withdrawn)",
    ),
    Mutant(
        "crash takes everything down",
        ACTOR,
        "            except Exception as bug:",
        "            except MemoryError as bug:",
    ),
    Mutant("crash is not told", ACTOR, "                on_crash(self.name, bug)\n", ""),
    Mutant(
        "fenced tier leaves drains waiting",
        FENCED,
        "Acquire(ticket) | Drain(ticket)",
        "Acquire(ticket)",
    ),
)

TIER = Suite(
    name="tier",
    hunt="tests.sim.tier_hunt",
    packages=(
        "anvil_trio.actors",
        "anvil_trio.tiers",
        "anvil_trio.admission",
        "tests.sim.event_slot",
        "tests.sim.link",
        "tests.sim.watch",
        "tests.sim.tier_scenario",
        "tests.sim.tier_sweep",
        "tests.unit.tiers.model",
    ),
    mutants=(
        *SLOT,
        *WITHDRAW,
        *LEASE,
        *ORDER,
        *RANKING_MUTANTS,
        *INTENT,
        *CEILING,
        *READINESS,
        *OWNER_GONE,
        *RECONFIGURE,
        *LIFE,
        *DOOR,
    ),
)
