"""Bugs on purpose in the services beside chat."""

from tests.support.mutants import Mutant, Suite

__all__ = ["PURPOSE"]

RUN = "anvil_trio.purpose.run"
RELAY = "anvil_trio.purpose.relay"
EVENTS = "anvil_trio.purpose.events"
TEXTS = "anvil_trio.purpose.texts"
HEARING = "anvil_trio.purpose.hearing"

GIVE_BACK = (
    Mutant("permit never given back", RUN, "        with permit:\n", "        if permit:\n"),
    Mutant("place of audio never given back", RUN, "        with place:\n", "        if place:\n"),
    Mutant(
        "an await between the place of audio and its block",
        RUN,
        "        with place:\n",
        "        await trio.lowlevel.checkpoint()\n        with place:\n",
    ),
    Mutant(
        "the permit is given back before the attempt",
        RUN,
        "            return await self._place(ask, service)\n",
        "            permit.release()\n            return await self._place(ask, service)\n",
    ),
    Mutant(
        "audio has no places of its own",
        RUN,
        "        if ask.kind not in _SPEECH:\n",
        "        if True:\n",
    ),
    Mutant(
        "a place of audio is taken before the body is there",
        RUN,
        "            body = await self._caller.read_body(\n",
        "            place = await self._house.audio.enter(self._call.client_id)\n"
        "            assert not isinstance(place, Refused)\n"
        "            place.release()\n"
        "            body = await self._caller.read_body(\n",
    ),
)

ENDS = (
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
        "            async with open_stream(upstream, outgoing.body, headers):\n"
        "                return broken(failure.problem)\n        finally:",
    ),
    Mutant(
        "the service's time never ends",
        RELAY,
        "trio.move_on_after(max(self._left_s, 0))",
        "trio.CancelScope()",
    ),
    Mutant(
        "the service's time begins anew with each read",
        RELAY,
        "        self._left_s -= seconds\n",
        "        self._left_s -= 0 * seconds\n",
    ),
    Mutant(
        "connecting costs no time",
        RUN,
        "                patience.spent(trio.current_time() - began_at)\n",
        "",
    ),
    Mutant(
        "a caller that does not read is never given up",
        RELAY,
        "trio.move_on_after(self._bounds.stall_s)",
        "trio.CancelScope()",
    ),
    Mutant(
        "last words without a bound",
        RUN,
        "        with trio.move_on_after(_LAST_WORDS_S):\n",
        "        with trio.CancelScope():\n",
    ),
    Mutant(
        "sound that breaks has an end",
        RUN,
        "        if self._manner is not Manner.EVENTS:\n            return True\n",
        "        if self._manner is not Manner.EVENTS:\n"
        "            await self._caller.end()\n            return True\n",
    ),
    Mutant(
        "a reply may be of any length",
        RELAY,
        "        if size > self._bounds.max_reply_bytes:\n",
        "        if False:\n",
    ),
    Mutant(
        "an engine's error is read to its end",
        RELAY,
        "while self._size <= MAX_ERROR_BODY and (data",
        "while (data",
    ),
)

WORDS = (
    Mutant(
        "an unknown name is not told the known ones",
        RUN,
        'names = ", ".join(self._generation.services.names(ask.kind))',
        'names = ""',
    ),
    Mutant(
        "a failing event is handed on",
        EVENTS,
        '        if is_given(read.error) or "error" in {event.event, read.type}:\n',
        "        if False:\n",
    ),
    Mutant(
        "events show the engine's model",
        EVENTS,
        "        if read.model is not None and read.model != self._name:\n",
        "        if False:\n",
    ),
    Mutant(
        "a reply shows the engine's model",
        TEXTS,
        "is_named = reply.model is None or reply.model == told.name",
        "is_named = True",
    ),
    Mutant(
        "the engine hears the caller's name",
        HEARING,
        "self.body[: part.start], model.encode(), self.body[part.end :]",
        "self.body",
    ),
    Mutant(
        "a reply without what was asked for is good",
        TEXTS,
        "        if wanted is None:\n            return None\n",
        "",
    ),
    Mutant(
        "a long prompt stands in another field",
        RUN,
        "    return Closing(closing.outcome, replace(what, param=ask.subject), closing.tail)",
        "    return closing",
    ),
)

PURPOSE = Suite(
    name="purpose",
    hunt="tests.sim.purpose_hunt",
    packages=(
        "anvil_trio.exchange",
        "anvil_trio.purpose",
        "anvil_trio.realtime",
        "anvil_trio.transition",
        "anvil_trio.demo",
        "anvil_trio.web",
        "tests.purpose",
        "tests.support.asgi",
        "tests.support.small_house",
        "tests.sim.service_sweep",
    ),
    mutants=(*GIVE_BACK, *ENDS, *WORDS),
)
