"""Bugs on purpose in the exchange and the upstream client."""

from tests.support.mutants import Mutant, Suite

__all__ = ["EXCHANGE"]

FRAME = "anvil_trio.exchange.frame"
RUN = "anvil_trio.exchange.run"
SELECTION = "anvil_trio.exchange.selection"
WATCH = "anvil_trio.exchange.watch"
DEADLINES = "anvil_trio.exchange.deadlines"
RELAY = "anvil_trio.exchange.relay"
STREAM = "anvil_trio.exchange.stream_relay"
HOUSE = "anvil_trio.exchange.house"
DELIVERY = "anvil_trio.exchange.delivery"
MESSAGES_RELAY = "anvil_trio.dialects.anthropic_relay"
CLIENT = "anvil_trio.upstream.client"

GIVE_BACK = (
    Mutant("permit never given back", RUN, "        with permit:\n", "        if permit:\n"),
    Mutant("lease never given back", SELECTION, "with got as lease:", "if lease := got:"),
    Mutant(
        "an await between the lease and its block",
        SELECTION,
        "        with got as lease:\n",
        "        await trio.lowlevel.checkpoint()\n        with got as lease:\n",
    ),
    Mutant(
        "upstream stream never closed",
        CLIENT,
        '"left without having been entered"\n        await self._stream.aclose()',
        '"left without having been entered"',
    ),
    Mutant(
        "upstream stream closed only when all went well",
        CLIENT,
        '"left without having been entered"\n        await',
        '"left without having been entered"\n        if exc is None:\n            await',
    ),
    Mutant(
        "a checkpoint before the upstream stream is closed",
        CLIENT,
        '"left without having been entered"\n        await',
        '"left without having been entered"\n        await trio.lowlevel.checkpoint()\n'
        "        await",
    ),
    Mutant(
        "a permit is given back before the lease",
        RUN,
        "            return await self._select(route)\n",
        "            permit.release()\n            return await self._select(route)\n",
    ),
    Mutant("an exchange that is never forgotten", HOUSE, "del self._running[watch]", "pass"),
)

RECORD = (
    Mutant(
        "two records",
        FRAME,
        "        self._house.log.record(record)\n",
        "        self._house.log.record(record)\n        self._house.log.record(record)\n",
    ),
    Mutant(
        "no record when the caller has left",
        FRAME,
        "            self._write_record(closing.outcome)",
        "            if not self._watch.is_gone:\n"
        "                self._write_record(closing.outcome)",
    ),
    Mutant(
        "no record when cancelled",
        FRAME,
        "            self._write_record(closing.outcome)",
        "            pass\n        self._write_record(closing.outcome)",
    ),
    Mutant(
        "the wait is recorded to the end of the request",
        SELECTION,
        "            record.answered_at = now = self._watch.now()\n",
        "            now = self._watch.now()\n",
    ),
)

ENDS = (
    Mutant("leaving is not heard", WATCH, "        self.life.cancel()\n", "        pass\n"),
    Mutant(
        "the total deadline never runs",
        WATCH,
        "self._total_at = now + self.limits.total_s",
        "pass",
    ),
    Mutant(
        "the total deadline of a whole request never runs",
        WATCH,
        "now + limits.total_s if is_asked else inf",
        "inf",
    ),
    Mutant(
        "the admission deadline of a whole request never runs",
        WATCH,
        "self._nearest(now + limits.admission_s, Cut.NO_MEMBER) if is_asked else inf",
        "inf",
    ),
    Mutant(
        "the admission deadline never runs",
        WATCH,
        "self._bound(now + self.limits.admission_s, Cut.NO_MEMBER)",
        "self._bound(inf, Cut.NO_MEMBER)",
    ),
    Mutant(
        "the admission deadline runs on",
        RUN,
        "open_stream(upstream, body, request, on_wait)",
        "open_stream(upstream, body, request)",
    ),
    Mutant(
        "a whole reply keeps the bound of the wait for a member",
        RELAY,
        "        self._watch.follow_engine()\n",
        "",
    ),
    Mutant(
        "last words without a bound",
        DELIVERY,
        "    with trio.move_on_after(patience):\n",
        "    with trio.CancelScope():\n",
    ),
    Mutant(
        "a second head after the stream began",
        DELIVERY,
        "    whole = None if caller.has_started else _whole(closing, call, headers)\n",
        "    whole = _whole(closing, call, headers)\n",
    ),
)

DEADLINE = (
    Mutant(
        "the first event starts no idle deadline",
        DEADLINES,
        "self._quiet_kind, self._quiet_s, self._quiet_since = Due.IDLE, self._limits.idle_s, now",
        "self._quiet_since = now",
    ),
    Mutant(
        "an event moves no deadline",
        DEADLINES,
        "self._quiet_kind, self._quiet_s, self._quiet_since = Due.IDLE, self._limits.idle_s, now",
        "pass",
    ),
    Mutant(
        "the first event moves no open lapse",
        WATCH,
        "        if is_first:  # a beginning may be waited for longer than what follows it\n",
        "        if False:\n",
    ),
    Mutant(
        "the finish reason starts no grace",
        DEADLINES,
        "self._quiet_kind, self._quiet_s, self._quiet_since = Due.GRACE, GRACE_S, now",
        "pass",
    ),
    Mutant(
        "comments are progress",
        STREAM,
        "        if translator.events != before:\n",
        "        if True:\n",
    ),
    Mutant(
        "no heartbeat",
        DEADLINES,
        "        return Due.HEARTBEAT if now",
        "        return Due.NOTHING if now",
    ),
    Mutant(
        "the engine's silence never counts",
        DEADLINES,
        "            return self._quiet_kind\n",
        "            return Due.NOTHING\n",
    ),
    Mutant(
        "a stall never counts",
        DEADLINES,
        "return Due.STALL if now",
        "return Due.NOTHING if now",
    ),
    Mutant(
        "a lapse ends the relay",
        RELAY,
        "            while due in {Due.NOTHING, Due.HEARTBEAT}:\n",
        "            while due in {Due.NOTHING}:\n",
    ),
    Mutant(
        "a write that was cut is not gone on with",
        STREAM,
        "        if self._watch.deadlines.is_sending:\n            await self._write()\n\n",
        "        if self._watch.deadlines.is_sending:\n            self._watch.sent()\n\n",
    ),
    Mutant(
        "nobody waits for who does not take what is passed on",
        STREAM,
        "        elif caller.is_drained:\n",
        "        else:\n",
    ),
    Mutant(
        "a head that was received is lost",
        RELAY,
        "            self._head = item\n",
        "            await trio.lowlevel.checkpoint()\n            self._head = item\n",
    ),
    Mutant(
        "body bytes that were received are lost",
        RELAY,
        "            self._collected.append(item)\n",
        "            await trio.lowlevel.checkpoint()\n            self._collected.append(item)\n",
    ),
    Mutant(
        "an event that could not be said at once is lost",
        STREAM,
        "            self._outbox = data\n",
        "            pass\n",
    ),
)

TERMINAL = (
    Mutant(
        "a fault behind the stop reason leaves a success without its end",
        MESSAGES_RELAY,
        "if not self._has_ended and self._failure is None:\n            self._finish(out)",
        "if not self._has_ended and self.failure is None:\n            self._finish(out)",
    ),
    Mutant(
        "what comes with the last word is lost",
        STREAM,
        "            self._last += out\n",
        "            pass\n",
    ),
    Mutant(
        "a break after the finish reason is a failure",
        STREAM,
        "        if self._translator.is_finished or self._translator.is_done:\n",
        "        if False:\n",
    ),
    Mutant(
        "a failure to dispatch ends as a bug",
        RUN,
        "        except UpstreamFailed as failure:\n            return broken(failure.problem)\n",
        "        except ZeroDivisionError:\n            raise\n",
    ),
    Mutant(
        "one more attempt when the first fails",
        RUN,
        "            return broken(failure.problem)\n        finally:",
        "            async with self._opening(upstream):\n"
        "                return broken(failure.problem)\n        finally:",
    ),
)

EXCHANGE = Suite(
    name="exchange",
    hunt="tests.sim.exchange_hunt",
    packages=(
        "anvil_trio.dialects.anthropic_relay",
        "anvil_trio.dialects.anthropic_messages",
        "anvil_trio.exchange",
        "anvil_trio.transition",
        "anvil_trio.upstream.client",
        "tests.support.small_house",
        "tests.support.three_dialects",
        "tests.sim.exchange_lapses",
        "tests.sim.books",
        "tests.sim.disk",
        "tests.sim.operator",
        "tests.sim.exchange_scenario",
        "tests.sim.exchange_sweep",
    ),
    mutants=(*GIVE_BACK, *RECORD, *ENDS, *DEADLINE, *TERMINAL),
)
