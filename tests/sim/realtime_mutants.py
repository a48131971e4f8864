"""Bugs on purpose in realtime sessions and their way to an engine."""

from tests.support.mutants import Mutant, Suite

__all__ = ["REALTIME"]

RUN = "anvil_trio.realtime.run"
SELECTION = "anvil_trio.exchange.selection"
RELAY = "anvil_trio.realtime.relay"
CLOCK = "anvil_trio.realtime.clock"
CLOSES = "anvil_trio.realtime.closes"
ENGINE = "anvil_trio.upstream.realtime"

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
        "the permit is given back when the engine is there",
        RUN,
        "            return await self._select(route)\n",
        "            permit.release()\n            return await self._select(route)\n",
    ),
    Mutant(
        "the connection is never closed",
        ENGINE,
        "        await trio.aclose_forcefully(stream)\n",
        "        pass\n",
    ),
    Mutant(
        "the connection is closed only when all went well",
        ENGINE,
        "    finally:\n        await trio.aclose_forcefully(stream)\n",
        "    except ZeroDivisionError:\n        raise\n    await trio.aclose_forcefully(stream)\n",
    ),
    Mutant(
        "a checkpoint before the connection is closed",
        ENGINE,
        "        await trio.aclose_forcefully(stream)\n",
        "        await trio.lowlevel.checkpoint()\n        await trio.aclose_forcefully(stream)\n",
    ),
    Mutant(
        "the wait is recorded to the end of the session",
        SELECTION,
        "            record.answered_at = now = self._watch.now()\n",
        "            now = self._watch.now()\n",
    ),
)

ENDS = (
    Mutant(
        "the admission deadline never runs",
        SELECTION,
        "        record.asked_at = watch.begin()\n",
        "        record.asked_at = watch.begin()\n        watch.chosen()\n",
    ),
    Mutant(
        "the total deadline never runs",
        SELECTION,
        "        record.asked_at = watch.begin()\n",
        "        record.asked_at = watch.now()\n",
    ),
    Mutant(
        "a session lasts no longer than the wait for its member might",
        RUN,
        "        self._watch.chosen()\n",
        "",
    ),
    Mutant(
        "a member that comes with the expiry is kept",
        SELECTION,
        "            if watch.is_over(now):\n                return self._cut()\n",
        "",
    ),
    Mutant(
        "a goodbye to the engine without a bound",
        RUN,
        "        with trio.move_on_after(FAREWELL_S):\n",
        "        with trio.CancelScope():\n",
    ),
    Mutant(
        "last words without a bound",
        RUN,
        "        with trio.move_on_after(LAST_WORDS_S):\n",
        "        with trio.CancelScope():\n",
    ),
    Mutant(
        "a client that has closed is waited for",
        RELAY,
        "self._life.deadline = min(self._life.deadline, trio.current_time() + HURRY_S)",
        "pass",
    ),
    Mutant(
        "a client that closes is not heard out",
        RELAY,
        "self._life.deadline = min(self._life.deadline, trio.current_time() + HURRY_S)",
        "self._life.cancel()",
    ),
    Mutant(
        "the engine's end ends nothing",
        RELAY,
        "                return self._part(parting_of_engine(closed.code))\n",
        "                return parting_of_engine(closed.code)\n",
    ),
    Mutant(
        "what the engine said before its end is lost",
        RELAY,
        "                return self._taken(Side.ENGINE)\n",
        "                return self._part(parting_of_engine(1006))\n",
    ),
    Mutant(
        "the client is not told the end",
        RUN,
        "            if close is not None:\n                await self._caller.close(close)\n",
        "",
    ),
    Mutant(
        "the client is told after its own close",
        RUN,
        "None if parting.by is Side.CLIENT else parting.close",
        "parting.close",
    ),
    Mutant(
        "a failure to connect ends as a bug",
        RUN,
        "        except UpstreamFailed as failure:\n            return broken(failure.problem)\n",
        "        except ZeroDivisionError:\n            raise\n",
    ),
    Mutant(
        "one more attempt when the first fails",
        RUN,
        "            return broken(failure.problem)\n        finally:",
        "            with trio.move_on_after(1):\n"
        "                await upstream.transport.open_stream()\n"
        "            return broken(failure.problem)\n        finally:",
    ),
    Mutant(
        "a refused handshake is waited for",
        ENGINE,
        "        self.patience.cancel()  # whoever still waits for a handshake waits in vain\n",
        "",
    ),
    Mutant(
        "connecting without a bound",
        ENGINE,
        "    with trio.move_on_at(deadline):\n",
        "    with trio.CancelScope():\n",
    ),
    Mutant(
        "what the library raises ends the session as a bug",
        ENGINE,
        "        with suppress(Exception):",
        "        with suppress(ZeroDivisionError):",
    ),
)

CLOCKS = (
    Mutant(
        "silence never counts",
        CLOCK,
        "            return Due.STARTUP\n",
        "            return Due.NOTHING\n",
    ),
    Mutant(
        "a stall never counts",
        CLOCK,
        "                return _STALLED[side]\n",
        "                return Due.NOTHING\n",
    ),
    Mutant(
        "the clock is not moved when something falls due sooner",
        RELAY,
        "        self._timer.deadline = min(self._timer.deadline, self._clock.next_due())",
        "        pass",
    ),
    Mutant(
        "a message moves no deadline",
        CLOCK,
        "        del self._sending[by]\n        self._quiet_since = now\n",
        "        del self._sending[by]\n",
    ),
)

WORDS = (
    Mutant(
        "an engine's message is handed on twice",
        RELAY,
        "            self._taken(Side.CLIENT)\n",
        "            self._taken(Side.CLIENT)\n            await self._caller.send(said)\n",
    ),
    Mutant(
        "only text is handed on",
        RELAY,
        "            self._said(Side.ENGINE)\n",
        "            if isinstance(said, bytes):\n                continue\n"
        "            self._said(Side.ENGINE)\n",
    ),
    Mutant("the engine hears the alias", RELAY, "self._names.to_engine(said) if", "said if"),
    Mutant(
        "the client hears the engine's name", RELAY, "self._names.to_client(said) if", "said if"
    ),
    Mutant(
        "a close has a reason that is not ours",
        CLOSES,
        "Close(NORMAL))",
        "Close(NORMAL, 'words of its own'))",
    ),
)

REALTIME = Suite(
    name="realtime",
    hunt="tests.sim.realtime_hunt",
    packages=(
        "anvil_trio.exchange",
        "anvil_trio.purpose",
        "anvil_trio.realtime",
        "anvil_trio.transition",
        "anvil_trio.upstream.client",
        "anvil_trio.upstream.realtime",
        "tests.realtime",
        "tests.support.small_house",
        "tests.sim.books",
        "tests.sim.realtime_scenario",
        "tests.sim.realtime_sweep",
    ),
    mutants=(*GIVE_BACK, *ENDS, *CLOCKS, *WORDS),
)
